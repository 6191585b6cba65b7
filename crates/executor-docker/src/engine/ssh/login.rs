use super::client::SshClient;
use super::route::{SAID, socket_of};
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

/// How long a path may be for ssh, which adds a part of its own to it, to bind a socket there.
const LONGEST_PATH: usize = 80;

/// What the directories of logins begin with.
const PREFIX: &str = "runwright-ssh-";

/// How long a login may take until somebody listens in its directory.
const YOUNG: Duration = Duration::from_mins(1);

/// How often a login is tried again that an sshd has turned away unheard, and after how long.
const AGAIN: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(700),
    Duration::from_millis(1500),
    Duration::from_millis(2500),
];

/// How long an engine may take to say that it is there before that is left open.
const PATIENCE: Duration = Duration::from_secs(2);

/// An ssh that is logged in and leads a socket here to the engine's socket there. It ends with this.
#[derive(Debug)]
pub(super) struct Login {
    /// Its standard input keeps it there.
    _held: BufReader<SshStream>,
    directory: TempDir,
    /// Whether it leads anywhere.
    leads: bool,
    /// Whether somebody there has answered.
    answered: AtomicBool,
}

impl Login {
    /// Logs in; `None` where there is no place for its sockets.
    ///
    /// # Errors
    ///
    /// Fails when ssh does not get in; why is its error_output.
    pub(super) async fn begin(ssh: &SshClient) -> io::Result<Option<Self>> {
        let mut again = AGAIN.iter();
        loop {
            ssh.error_output.clear();
            match Self::try_begin(ssh).await {
                // Only so many may be on their way in at the same time; others may be, whom we know nothing of.
                Err(_) if is_turned_away(ssh) => match again.next() {
                    Some(after) => tokio::time::sleep(*after).await,
                    None => return Err(ssh_error(ssh, io::ErrorKind::ConnectionRefused)),
                },
                Err(error) => return Err(ssh_error(ssh, error.kind())),
                begun => return begun,
            }
        }
    }

    async fn try_begin(ssh: &SshClient) -> io::Result<Option<Self>> {
        let Some(directory) = place(ssh)? else {
            return Ok(None);
        };
        let control = directory.path().join("c");
        let mut held = BufReader::new(ssh.start(ssh.route.log_in(&control))?);
        let said = said(&mut held).await?;
        let mut login = Self {
            _held: held,
            directory,
            leads: false,
            answered: AtomicBool::new(false),
        };
        if let Some(there) = socket_of(&said) {
            let forward = ssh.route.forward(&control, &login.socket(), there);
            login.leads = ssh.say(forward).await?.outcome.success();
        }
        // What was ssh_error of on the way is nobody's reason any more.
        ssh.error_output.clear();
        Ok(Some(login))
    }

    /// Returns the socket by which another ssh uses this login.
    pub(super) fn control(&self) -> PathBuf {
        self.directory.path().join("c")
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    /// Opens a connection to the engine; `None` where the login leads to none.
    ///
    /// # Errors
    ///
    /// Fails when the login has ended.
    pub(super) async fn connect(&self) -> io::Result<Option<UnixStream>> {
        if !self.leads {
            // Who comes by it finds out himself whether it has ended.
            return Ok(None);
        }
        if !self.answered.load(Ordering::Relaxed) {
            // An sshd that leads nowhere, or to where nothing is, says so by closing what it has opened.
            match is_open(UnixStream::connect(self.socket()).await?).await {
                Some(true) => self.answered.store(true, Ordering::Relaxed),
                Some(false) => return Ok(None),
                None => {}
            }
        }
        UnixStream::connect(self.socket()).await.map(Some)
    }
}

/// Makes the directory of the sockets, which only we may enter; `None` where its path would be too long.
fn place(ssh: &SshClient) -> io::Result<Option<TempDir>> {
    let temporary = std::env::temp_dir();
    sweep(&temporary);
    let directory = ssh.supervisor.temp_dir(&temporary, PREFIX);
    let directory = directory.map_err(io::Error::other)?;
    let is_short = directory.path().as_os_str().len() <= LONGEST_PATH;
    // A colon would end the path for ssh, and a percent sign would stand for something.
    let is_plain = !directory.path().to_string_lossy().contains([':', '%', ' ']);
    Ok((is_short && is_plain).then_some(directory))
}

/// Removes the directories of logins that have ended with a runner that was killed: nobody listens in them any more.
fn sweep(temporary: &Path) {
    let entries = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    let logins = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for login in logins {
        let age = login.metadata().and_then(|found| found.modified());
        let is_old = age.is_ok_and(|at| at.elapsed().is_ok_and(|since| since > YOUNG));
        let ours = rustix::process::geteuid().as_raw();
        let is_ours = login.metadata().is_ok_and(|found| found.uid() == ours);
        // What others put there is not spoken to: it may never answer.
        if !is_old || !is_ours {
            continue;
        }
        let is_dead = ["s", "c"].iter().any(|name| {
            let connected = Blocking::connect(login.path().join(name));
            connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        });
        if is_dead {
            // Another who sweeps may have been sooner, or it is not ours to remove.
            let _ = std::fs::remove_dir_all(login.path());
        }
    }
}

/// Reads what the other side says until it has said all.
async fn said(held: &mut BufReader<SshStream>) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if held.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if line.trim_end() == SAID {
            return Ok(lines);
        }
        lines.push(line);
    }
}

/// Returns an error that says what ssh ssh_error of.
fn ssh_error(ssh: &SshClient, kind: io::ErrorKind) -> io::Error {
    match ssh.error_output.text() {
        Some(error_output) => io::Error::new(kind, format!("log in by ssh: {error_output}")),
        None => kind.into(),
    }
}

/// Whether the last login ended before anything was spoken of, as it does where too many come at once.
fn is_turned_away(ssh: &SshClient) -> bool {
    let error_output = ssh.error_output.text();
    error_output.is_some_and(|text| text.contains("exchange_identification"))
}

/// Whether somebody answers and does not close the connection; `None` where neither happens in time.
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
