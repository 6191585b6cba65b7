//! The engine's process.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use anyhow::{Context, bail};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::{run, stop};

/// The timeout for an engine to start. Its first start on a slow disk takes some seconds.
const START: Duration = Duration::from_mins(2);

/// The grace period before it is killed.
const STOP: Duration = Duration::from_secs(30);

/// The memory limit for its data and state: images, and what the tests write.
const ROOM: &str = "size=6g";

/// A running Docker Engine with its own data, socket, port and bridge. It ends when this is dropped.
///
/// Its data are in memory. An engine waits for the disk several times per container, so tests on a slow disk took
/// five times as long.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    /// Short, because the length of a socket path is limited.
    runtime: PathBuf,
    data: PathBuf,
    bridge: String,
    port: u16,
}

impl Daemon {
    /// Starts an engine and waits until it responds.
    ///
    /// # Errors
    ///
    /// Fails with the end of its log when it exits or does not respond in time.
    pub(crate) fn start(target: &Path) -> anyhow::Result<Self> {
        sweep(target);
        let id = process::id();
        let runtime = env::temp_dir().join(format!("runwright-engine-{id}"));
        let data = target.join(format!("test-engine-{id}"));
        for directory in [&runtime, &data] {
            fs::create_dir_all(directory)
                .with_context(|| format!("make {}", directory.display()))?;
            if let Err(error) = mount_memory(directory) {
                println!("test: {} is on the disk: {error:#}", directory.display());
            }
        }
        let bridge = format!("rwt{id}");
        make_bridge(&bridge, id)?;
        let certificates = runtime.join("certificates");
        make_certificates(&certificates).context("make certificates")?;
        let port = free_port()?;
        let log = File::create(runtime.join("log"))?;
        // `setpriv` ends the engine when this process is killed.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM", "dockerd"])
            .arg("--host")
            .arg(format!("unix://{}", runtime.join("docker.sock").display()))
            .arg("--host")
            .arg(format!("tcp://127.0.0.1:{port}"))
            // This applies to the port alone: access to the socket needs no certificate.
            .arg("--tlsverify")
            .arg("--tlscacert")
            .arg(certificates.join("ca.pem"))
            .arg("--tlscert")
            .arg(certificates.join("server-cert.pem"))
            .arg("--tlskey")
            .arg(certificates.join("server-key.pem"))
            .arg("--data-root")
            .arg(&data)
            .arg("--exec-root")
            .arg(runtime.join("exec"))
            .arg("--pidfile")
            .arg(runtime.join("pid"))
            .args(["--bridge", &bridge])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn().context("start dockerd")?;
        // From here on, a failure drops the daemon and so ends it.
        let mut daemon = Self {
            child,
            runtime,
            data,
            bridge,
            port,
        };
        daemon.wait_until_up()?;
        println!("test: Docker Engine runs at {}", daemon.address());
        Ok(daemon)
    }

    /// Returns its address in the form that clients accept.
    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Returns a client command that connects to it.
    pub(crate) fn client(&self) -> Command {
        let mut command = Command::new("docker");
        command
            .env("DOCKER_HOST", self.address())
            .stdin(Stdio::null());
        command
    }

    /// Returns its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.runtime.join("docker.sock")
    }

    /// Returns the loopback port on which it serves TLS.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the directory with the server's and the client's certificates.
    pub(crate) fn certificates(&self) -> PathBuf {
        self.runtime.join("certificates")
    }

    /// Returns its runtime directory, which is removed with it.
    pub(crate) fn runtime(&self) -> &Path {
        &self.runtime
    }

    fn wait_until_up(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("dockerd ended, {status}:\n{}", self.log_end());
            }
            // The socket exists before the engine responds.
            if UnixStream::connect(self.socket()).is_ok() && self.answers() {
                return Ok(());
            }
            if started.elapsed() > START {
                bail!("dockerd does not answer:\n{}", self.log_end());
            }
            stop::check()?;
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn answers(&self) -> bool {
        let mut client = self.client();
        client.args(["version"]).stdout(Stdio::null());
        client.stderr(Stdio::null());
        client.status().is_ok_and(|status| status.success())
    }

    fn log_end(&self) -> String {
        let log = fs::read_to_string(self.runtime.join("log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Asks the engine to end, which also ends its containers, and kills it after a timeout.
    fn end(&mut self) {
        let asked = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let until = Instant::now() + STOP;
        while asked.is_ok() && Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
        let _ = ip(&["link", "delete", &self.bridge]);
        for directory in [&self.runtime, &self.data] {
            unmount(directory);
            if let Err(error) = fs::remove_dir_all(directory) {
                println!("test: {} is left: {error}", directory.display());
            }
        }
    }
}

/// Removes the leftovers of engines whose xtask process was killed.
fn sweep(target: &Path) {
    let owner = |path: &Path, prefix: &str| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(prefix)?.parse().ok()
    };
    for (parent, prefix) in [
        (target.to_owned(), "test-engine-"),
        (env::temp_dir(), "runwright-engine-"),
    ] {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if let Some(id) = owner(&path, prefix)
                && !Path::new("/proc").join(id.to_string()).exists()
            {
                unmount(&path);
                let _ = fs::remove_dir_all(path);
                let _ = ip(&["link", "delete", &format!("rwt{id}")]);
            }
        }
    }
}

/// Mounts a file system in memory.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn mount_memory(directory: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("mount");
    let options = ["-t", "tmpfs", "-o", ROOM, "tmpfs"];
    run::run(command.args(options).arg(directory).stdin(Stdio::null()))
}

/// Unmounts a directory, and the mounts below it that a killed engine left.
pub(crate) fn unmount(directory: &Path) {
    let mut command = Command::new("umount");
    let quiet = command.stdin(Stdio::null()).stderr(Stdio::null());
    // The directory may not be a mount point.
    let _ = quiet
        .args(["--recursive", "--lazy"])
        .arg(directory)
        .status();
}

/// Creates a separate bridge, because another engine on this machine keeps its own addresses.
fn make_bridge(name: &str, id: u32) -> anyhow::Result<()> {
    let [_, _, high, low] = id.to_be_bytes();
    // 198.18.0.0/15 is reserved for network tests (RFC 2544), so it does not collide with real networks.
    let address = format!("198.{}.{low}.1/24", 18 + (high & 1));
    ip(&["link", "add", name, "type", "bridge"])?;
    ip(&["address", "add", &address, "dev", name])?;
    ip(&["link", "set", name, "up"])
}

fn ip(words: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("ip");
    run::run(
        command
            .args(words)
            .stdin(Stdio::null())
            .stderr(Stdio::null()),
    )
}

/// Returns a free port of the loopback address, for servers that cannot report a port that they choose themselves.
///
/// # Errors
///
/// Fails when there is none.
pub(super) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Creates an authority and the certificates of a server and a client in the files that docker expects: `ca.pem`,
/// `cert.pem`, `key.pem`, and those of the server with the prefix `server-`.
///
/// # Errors
///
/// Fails when they cannot be created or written.
fn make_certificates(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    // World-readable: some tests run without rights, and the engine behind the keys ends with the tests.
    let write = |name: &str, text: String| fs::write(directory.join(name), text);
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    write("ca.pem", authority.pem())?;
    for (name, host) in [("server-", "127.0.0.1"), ("", "client")] {
        let key = KeyPair::generate()?;
        let params = CertificateParams::new(vec![host.to_owned()])?;
        let certificate = params.signed_by(&key, &authority)?;
        write(&format!("{name}cert.pem"), certificate.pem())?;
        write(&format!("{name}key.pem"), key.serialize_pem())?;
    }
    Ok(())
}
