//! Access to the engine over ssh.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, bail};

use super::Daemon;
use super::daemon::free_port;
use crate::run;

/// The timeout for the server to listen.
const START: Duration = Duration::from_mins(2);

/// A user that is neither root nor `nobody`. ssh checks the permissions of a key only for the key's owner, and the
/// tests run as both of these users.
const OTHER_USER: u32 = 1;

/// A real `sshd` on a loopback port, with its own keys and all limits at their defaults. It ends when this is
/// dropped, and its files are beside those of the engine.
#[derive(Debug)]
pub(crate) struct Sshd {
    child: Child,
    port: u16,
    directory: PathBuf,
}

impl Sshd {
    /// Starts a server whose users reach this engine through the docker command.
    ///
    /// # Errors
    ///
    /// Fails with its log when it does not listen in time.
    pub(crate) fn start(daemon: &Daemon) -> anyhow::Result<Self> {
        let directory = daemon.runtime().join("ssh");
        fs::create_dir_all(directory.join("bin"))?;
        for name in ["host", "key"] {
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            run::run(command.arg(directory.join(name)).stdin(Stdio::null()))?;
        }
        let key = directory.join("key");
        chown(&key, Some(OTHER_USER), None).context("give the key away")?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644))?;
        let port = free_port()?;
        write_client(&directory, port)?;
        write_server(&directory, port, &daemon.address())?;
        // The privilege separation directory, which sshd requires.
        fs::create_dir_all("/run/sshd").context("make /run/sshd")?;
        let log = File::create(directory.join("log"))?;
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM", "/usr/sbin/sshd", "-D", "-e", "-f"])
            .arg(directory.join("server"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn().context("start sshd")?;
        // From here on, a failure drops the server and so ends it.
        let mut sshd = Self {
            child,
            port,
            directory,
        };
        sshd.wait_until_up()?;
        Ok(sshd)
    }

    /// Returns the address of the engine behind it.
    pub(crate) fn address(&self) -> String {
        format!("ssh://root@{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Returns a search path with an `ssh` that knows the keys. A configuration in the home directory would not work:
    /// ssh takes that directory from the list of users.
    pub(crate) fn search_path(&self) -> anyhow::Result<std::ffi::OsString> {
        let others = env::var_os("PATH").unwrap_or_default();
        let own = self.directory.join("bin");
        let all = [own].into_iter().chain(env::split_paths(&others));
        env::join_paths(all).context("put ssh into the search path")
    }

    fn wait_until_up(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            let ended = self.child.try_wait()?;
            if ended.is_some() || started.elapsed() > START {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                bail!("sshd does not listen:\n{log}");
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes the `ssh` of the tests, which knows the host key and has the client key.
fn write_client(directory: &Path, port: u16) -> anyhow::Result<()> {
    let root = directory.display();
    let host = fs::read_to_string(directory.join("host.pub"))?;
    fs::write(
        directory.join("known_hosts"),
        format!("[{}]:{port} {host}", Ipv4Addr::LOCALHOST),
    )?;
    fs::write(
        directory.join("client"),
        format!(
            "IdentityFile {root}/key\nIdentitiesOnly yes\nStrictHostKeyChecking yes\n\
             UserKnownHostsFile {root}/known_hosts\nGlobalKnownHostsFile none\n"
        ),
    )?;
    let program = directory.join("bin/ssh");
    // Tests with their own ssh pass another file; the last `-F` takes effect.
    let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {root}/client \"$@\"\n");
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Writes the configuration of the server. Limits, such as that on concurrent logins, keep their defaults.
fn write_server(directory: &Path, port: u16, engine: &str) -> anyhow::Result<()> {
    let root = directory.display();
    fs::write(
        directory.join("server"),
        format!(
            "ListenAddress {}\nPort {port}\nHostKey {root}/host\nAuthorizedKeysFile {root}/key.pub\n\
             AuthenticationMethods publickey\nPermitRootLogin yes\nStrictModes no\nUsePAM no\nUseDNS no\n\
             PidFile none\nSetEnv DOCKER_HOST={engine}\n",
            Ipv4Addr::LOCALHOST
        ),
    )?;
    Ok(())
}
