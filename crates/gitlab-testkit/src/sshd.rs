//! SSH: a real `sshd`, started per connection so that none outlives its connection.

use crate::{GitLab, git};
use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The grace period for a connection to end after its client disconnects.
const PATIENCE: Duration = Duration::from_secs(10);

/// An SSH server on a loopback port with its own host key, for the repositories of a [`GitLab`] or for shells. It runs
/// until it is dropped, even while that GitLab is stopped.
#[derive(Debug)]
pub struct Sshd {
    folder: TempDir,
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stops: AtomicBool,
    connections: AtomicUsize,
}

/// A connection and the `sshd` that serves it.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    server: Child,
}

impl Sshd {
    /// Returns whether the programs it needs are installed.
    pub fn is_there() -> bool {
        program("sshd").is_some() && program("ssh").is_some() && program("ssh-keygen").is_some()
    }

    /// Starts a server that lets clients with [`Sshd::key`] read any repository of a GitLab.
    ///
    /// # Panics
    ///
    /// If `sshd` or `ssh` is not installed: see [`Sshd::is_there`].
    pub fn start(gitlab: &GitLab) -> Self {
        Self::serve(Some(&gitlab.repositories()))
    }

    /// Starts a server that gives clients with [`Sshd::key`] a shell of the account that runs the test, whose `HOME` is
    /// [`Sshd::home`].
    ///
    /// # Panics
    ///
    /// If `sshd` or `ssh` is not installed: see [`Sshd::is_there`].
    pub fn with_shells() -> Self {
        Self::serve(None)
    }

    fn serve(repositories: Option<&Path>) -> Self {
        let sshd = program("sshd").expect("`sshd` is there: Debian's package openssh-server");
        let folder = tempfile::Builder::new()
            .prefix("gitlab-testkit-sshd-")
            .tempdir()
            .expect("a folder for keys can be made");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port can be had");
        let address = listener.local_addr().expect("it has an address");
        prepare(folder.path(), repositories, address).expect("its files can be written");
        let shared = Arc::new(Shared::default());
        let (config, log) = (folder.path().join("config"), folder.path().join("log"));
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared, || server(&sshd, &config, &log))
        });
        Self {
            folder,
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// Returns the socket address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of a project: `ssh://git@127.0.0.1:PORT/group/project.git`.
    pub fn url(&self, project: &str) -> String {
        format!("ssh://git@{}/{project}.git", self.address)
    }

    /// Returns the value of `GIT_SSH_COMMAND` that connects to this server.
    ///
    /// `sshd` accepts accounts of this machine only, so the user `git` maps to the account that runs the test.
    pub fn command(&self) -> String {
        format!(
            "ssh -F /dev/null -l '{}' -i '{}' -o IdentitiesOnly=yes -o BatchMode=yes \
             -o ConnectTimeout=60 -o StrictHostKeyChecking=yes -o UserKnownHostsFile='{}'",
            user(),
            self.key().display(),
            self.known_hosts().display()
        )
    }

    /// Returns the private key file that the server accepts.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    /// Returns the `known_hosts` file with the key of this server.
    pub fn known_hosts(&self) -> PathBuf {
        self.folder.path().join("known_hosts")
    }

    /// Returns the directory that is `HOME` in its shells.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the log of `sshd`, which explains a refused login.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::SeqCst);
        // Wakes the thread, which blocks in `accept`.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves connections until the stop flag is set, then ends the open ones.
fn accept(listener: &TcpListener, shared: &Shared, command: impl Fn() -> Command) {
    let mut connections: Vec<Connection> = Vec::new();
    while let Ok((stream, _)) = listener.accept() {
        if shared.stops.load(Ordering::SeqCst) {
            break;
        }
        shared.connections.fetch_add(1, Ordering::SeqCst);
        connections.retain_mut(|it| !matches!(it.server.try_wait(), Ok(Some(_))));
        let [Ok(input), Ok(output)] = [stream.try_clone(), stream.try_clone()] else {
            continue;
        };
        let mut command = command();
        command
            .stdin(OwnedFd::from(input))
            .stdout(OwnedFd::from(output));
        if let Ok(server) = command.spawn() {
            connections.push(Connection { stream, server });
        }
    }
    for mut connection in connections {
        connection.end();
    }
}

impl Connection {
    /// Closes its connection, which ends every process that `sshd` started for it.
    fn end(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        let start = Instant::now();
        while matches!(self.server.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Returns an `sshd` command for one connection, passed as its stdin and stdout.
fn server(sshd: &Path, config: &Path, log: &Path) -> Command {
    let mut command = command(sshd);
    command.arg("-i").arg("-f").arg(config).arg("-E").arg(log);
    command.env_clear().stderr(Stdio::null());
    command
}

/// Writes the keys, the configuration, and the command that is forced for repositories.
fn prepare(folder: &Path, repositories: Option<&Path>, address: SocketAddr) -> std::io::Result<()> {
    for name in ["host", "key"] {
        let keygen = program("ssh-keygen").unwrap_or_else(|| "ssh-keygen".into());
        let mut command = command(&keygen);
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]);
        let status = command.arg(folder.join(name)).status()?;
        assert!(status.success(), "ssh-keygen makes a key");
    }
    let host = fs::read_to_string(folder.join("host.pub"))?;
    let known = format!("[{}]:{} {host}", address.ip(), address.port());
    fs::write(folder.join("known_hosts"), known)?;
    fs::copy(folder.join("key.pub"), folder.join("authorized_keys"))?;

    let place = folder.display();
    let sessions = if let Some(repositories) = repositories {
        let script = folder.join("serve");
        fs::write(&script, serving(repositories))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
        format!("ForceCommand {place}/serve\nAcceptEnv GIT_PROTOCOL\n")
    } else {
        fs::create_dir(folder.join("home"))?;
        format!("SetEnv HOME={place}/home\n")
    };
    let is_root = user() == "root";
    // Without PAM, `sshd` treats an account as locked unless it can read the password hash, which only root can.
    let pam = if is_root { "no" } else { "yes" };
    let settings = format!(
        "{sessions}HostKey {place}/host\n\
         AuthorizedKeysFile {place}/authorized_keys\n\
         AuthenticationMethods publickey\n\
         PermitRootLogin yes\n\
         PermitUserRC no\n\
         StrictModes no\n\
         UsePAM {pam}\n\
         UseDNS no\n\
         PidFile none\n\
         LoginGraceTime 60\n\
         ClientAliveInterval 10\n\
         ClientAliveCountMax 3\n"
    );
    fs::write(folder.join("config"), settings)?;
    if is_root {
        // Does what the system's start script does: `sshd` of root requires this empty directory.
        fs::create_dir_all("/run/sshd")?;
    }
    Ok(())
}

/// Returns a script in place of GitLab's shell: it runs Git's read commands and nothing else.
fn serving(repositories: &Path) -> String {
    let mut text = "#!/bin/sh\n".to_owned();
    let mut export = |name: &str, value: &str| {
        let _ = writeln!(text, "export {name}={}", quote(value));
    };
    git::environment(&mut export);
    export("repositories", &repositories.display().to_string());
    text + r#"service=${SSH_ORIGINAL_COMMAND%% *}
path=${SSH_ORIGINAL_COMMAND#* }
path=${path#\'}
path=${path%\'}
path=${path#/}
case $service in
git-upload-pack | git-upload-archive) ;;
*)
    echo "ERROR: You are not allowed to push code to this project." >&2
    exit 1
    ;;
esac
case $path in
*..*) exit 1 ;;
esac
if [ ! -d "$repositories/$path" ]; then
    echo "ERROR: The project you were looking for could not be found or you don't have permission to view it." >&2
    exit 1
fi
exec "git" "${service#git-}" "$repositories/$path"
"#
}

fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

/// Returns the account name of this process.
fn user() -> String {
    let output = command(Path::new("id")).arg("-un").output();
    let output = output.expect("`id` is on every system");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the path of a program; system programs may be outside the user's search path.
fn program(name: &str) -> Option<PathBuf> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&search)
        .chain(system)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this crate is for tests, and may import no other of the workspace"
)]
fn command(program: &Path) -> Command {
    Command::new(program)
}
