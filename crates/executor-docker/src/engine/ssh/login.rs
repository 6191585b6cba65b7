use super::program::SshProgram;
use super::route::{MARKER, socket_of};
use super::stream::SshStream;
use process::TempDir;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// The longest path of a socket for ssh, which appends its own suffix.
const LONGEST_PATH: usize = 80;

/// The prefix of the directories of logins.
const PREFIX: &str = "runwright-ssh-";

/// How long a new login may have no listener in its directory.
const YOUNG: Duration = Duration::from_mins(1);

/// The pauses before retries of a login that sshd rejected.
const RETRIES: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(700),
    Duration::from_millis(1500),
    Duration::from_millis(2500),
];

/// How long a probe of the forwarded socket waits for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A logged-in ssh that forwards a local socket to the engine's socket. It ends with this value.
#[derive(Debug)]
pub(super) struct Login {
    /// Its open standard input keeps ssh running.
    _held: BufReader<SshStream>,
    directory: TempDir,
    /// Whether it forwards to a socket.
    forwards: bool,
    /// Whether the engine has answered.
    answered: AtomicBool,
}

impl Login {
    /// Logs in; `None` when there is no directory for its sockets.
    ///
    /// # Errors
    ///
    /// When ssh cannot log in, with its error output.
    pub(super) async fn begin(ssh: &SshProgram) -> io::Result<Option<Self>> {
        let mut retries = RETRIES.iter();
        loop {
            ssh.error_output.clear();
            match Self::try_begin(ssh).await {
                // sshd limits concurrent logins, including those of others.
                Err(_) if is_rejected(ssh) => match retries.next() {
                    Some(after) => tokio::time::sleep(*after).await,
                    None => return Err(ssh_error(ssh, io::ErrorKind::ConnectionRefused)),
                },
                Err(error) => return Err(ssh_error(ssh, error.kind())),
                begun => return begun,
            }
        }
    }

    async fn try_begin(ssh: &SshProgram) -> io::Result<Option<Self>> {
        let Some(directory) = socket_dir(ssh)? else {
            return Ok(None);
        };
        let control = directory.path().join("c");
        let mut held = BufReader::new(ssh.start(ssh.route.log_in(&control))?);
        let lines = read_lines(&mut held).await?;
        let mut login = Self {
            _held: held,
            directory,
            forwards: false,
            answered: AtomicBool::new(false),
        };
        if let Some(there) = socket_of(&lines) {
            let forward = ssh.route.forward(&control, &login.socket(), there);
            login.forwards = ssh.run(forward).await?.outcome.success();
        }
        // Errors before the login no longer explain anything.
        ssh.error_output.clear();
        Ok(Some(login))
    }

    /// Returns the control socket, by which another ssh uses this login.
    pub(super) fn control(&self) -> PathBuf {
        self.directory.path().join("c")
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    /// Opens a connection to the engine; `None` when the login does not forward.
    ///
    /// # Errors
    ///
    /// When the login has ended.
    pub(super) async fn connect(&self) -> io::Result<Option<UnixStream>> {
        if !self.forwards {
            // The separate ssh detects itself whether the login has ended.
            return Ok(None);
        }
        if !self.answered.load(Ordering::Relaxed) {
            // An sshd without forwarding, or without a listener there, closes the connection.
            match is_open(UnixStream::connect(self.socket()).await?).await {
                Some(true) => self.answered.store(true, Ordering::Relaxed),
                Some(false) => return Ok(None),
                None => {}
            }
        }
        UnixStream::connect(self.socket()).await.map(Some)
    }
}

/// Creates the private directory of the sockets; `None` when its path is unsuitable for ssh.
fn socket_dir(ssh: &SshProgram) -> io::Result<Option<TempDir>> {
    let temporary = std::env::temp_dir();
    sweep(&temporary);
    let directory = ssh.supervisor.temp_dir(&temporary, PREFIX);
    let directory = directory.map_err(io::Error::other)?;
    let is_short = directory.path().as_os_str().len() <= LONGEST_PATH;
    // ssh treats a colon as a separator and expands a percent sign.
    let is_plain = !directory.path().to_string_lossy().contains([':', '%', ' ']);
    Ok((is_short && is_plain).then_some(directory))
}

/// Removes the directories of logins of killed runners, which have no listener.
fn sweep(temporary: &Path) {
    let entries = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    let logins = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for login in logins {
        let age = login.metadata().and_then(|found| found.modified());
        let is_old = age.is_ok_and(|at| at.elapsed().is_ok_and(|since| since > YOUNG));
        let ours = rustix::process::geteuid().as_raw();
        let is_ours = login.metadata().is_ok_and(|found| found.uid() == ours);
        // Sockets of other users are not connected to: they may never answer.
        if !is_old || !is_ours {
            continue;
        }
        let is_dead = ["s", "c"].iter().any(|name| {
            let connected = Blocking::connect(login.path().join(name));
            connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        });
        if is_dead {
            // A concurrent sweep may have removed it.
            let _ = std::fs::remove_dir_all(login.path());
        }
    }
}

/// Reads the lines of the other side up to the marker.
async fn read_lines(held: &mut BufReader<SshStream>) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if held.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if line.trim_end() == MARKER {
            return Ok(lines);
        }
        lines.push(line);
    }
}

/// Returns an error with what ssh wrote to stderr.
fn ssh_error(ssh: &SshProgram, kind: io::ErrorKind) -> io::Error {
    match ssh.error_output.text() {
        Some(error_output) => io::Error::new(kind, format!("log in by ssh: {error_output}")),
        None => kind.into(),
    }
}

/// Returns whether sshd closed the last login at once, as with too many concurrent logins.
fn is_rejected(ssh: &SshProgram) -> bool {
    let error_output = ssh.error_output.text();
    error_output.is_some_and(|text| text.contains("exchange_identification"))
}

/// Returns whether the engine answers, or the connection is closed; `None` when neither happens in time.
async fn is_open(mut stream: UnixStream) -> Option<bool> {
    let asked = stream
        .write_all(b"GET /_ping HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n\r\n")
        .await;
    if asked.is_err() {
        return Some(false);
    }
    let mut answer = [0; 16];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut answer)).await;
    read.ok().map(|read| read.is_ok_and(|bytes| bytes > 0))
}
