//! The process that outlives the runner.
//!
//! A small POSIX shell script that waits on a pipe. However the runner dies, the kernel closes the other end,
//! and the guardian ends the processes and removes the files that the journal lists. If the guardian is killed
//! too, [`recover`](crate::recover) does the same at the next start.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use executor_core::chain;
use fail_point::fail_point;
use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use tokio::task::JoinHandle;

use crate::children;
use crate::command::Prepared;
use crate::file_lock::{FileLock, LockKind};
use crate::journal;
use crate::sys::{ChildStdio, Started, posix, reap};
use crate::user_namespace::without_later_mounts;

const SCRIPT: &str = include_str!("guardian.sh");

/// How long a dismissed guardian may take to exit.
const DISMISSAL: Duration = Duration::from_secs(5);

/// A guardian that is starting or waiting.
#[derive(Debug)]
pub(crate) struct Guardian {
    /// Closing it is the signal. Close-on-exec: a job that inherited it would delay the signal.
    pipe: Option<OwnedFd>,
    /// `None` if it could not be started.
    starting: Option<JoinHandle<Option<Started>>>,
    pid: Arc<OnceLock<Pid>>,
}

impl Guardian {
    /// Starts the guardian in the background. Until it has started, the journal alone is enough for the next start.
    pub(crate) fn start(journal: &Path) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let command = command(journal)?;
        let lock = journal.with_file_name("");
        let pid = Arc::new(OnceLock::new());
        let started = Arc::clone(&pid);
        let starting = tokio::task::spawn_blocking(move || {
            let start = || children::start(|| posix::spawn(&command, stdio(read, &lock)?));
            let child = fail_point!(
                "process::guardian::start",
                without_later_mounts(start).flatten()
            );
            let child = child.inspect_err(not_started).ok()?;
            let _ = started.set(child.pid);
            Some(child)
        });
        Ok(Self {
            pipe: Some(write),
            starting: Some(starting),
            pid,
        })
    }

    /// Dismisses the guardian and waits until it has exited.
    pub(crate) async fn dismiss(mut self) -> io::Result<()> {
        let Some(starting) = self.starting.take() else {
            return Ok(());
        };
        let Some(started) = starting.await.map_err(io::Error::other)? else {
            return Ok(());
        };
        if let Some(pipe) = self.pipe.take() {
            fail_point!(
                "process::guardian::dismiss",
                File::from(pipe).write_all(b"done\n")
            )?;
        }
        let pidfd = reap::watch(started.pidfd)?;
        let left = tokio::time::timeout(DISMISSAL, pidfd.readable()).await;
        left.map_err(io::Error::from)?.map(drop)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // A guardian that was not dismissed now sees the end of its pipe and does its work.
        self.pipe = None;
        if let Some(pid) = self.pid.get() {
            children::abandon(*pid);
        }
    }
}

/// Warns that a run has no guardian: if it is killed, the next start cleans up.
pub(crate) fn not_started(error: &io::Error) {
    tracing::warn!(error = chain(error), "The guardian could not be started.");
}

fn command(journal: &Path) -> io::Result<Prepared> {
    Ok(Prepared {
        program: c"/bin/sh".into(),
        args: vec![
            c"sh".into(),
            c"-c".into(),
            CString::new(SCRIPT)?,
            c"runwright-guardian".into(),
            CString::new(journal.as_os_str().as_bytes())?,
        ],
        env: vec![
            c"PATH=/usr/local/bin:/usr/bin:/bin".into(),
            c"LC_ALL=C".into(),
        ],
        // The guardian must not keep the file system of a job's directory busy.
        current_dir: Some(c"/".into()),
        lock_limit: None,
    })
}

/// Returns the standard descriptors of a guardian. It prints nothing: its output is the directory of journals, which is locked as
/// long as it lives.
fn stdio(stdin: OwnedFd, lock: &Path) -> io::Result<ChildStdio> {
    let null = || open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    let locked = File::open(lock).and_then(|file| file.lock_shared().map(|()| file));
    Ok(ChildStdio {
        stdin,
        stdout: locked.map_or_else(|_| null(), |file| Ok(file.into()))?,
        stderr: null()?,
    })
}

/// Waits until the guardians of dead runs have ended. Afterwards nothing removes a directory that a new run creates in the
/// place of an old one.
///
/// Only for state directories that one run at a time has: the guardian of a living run is waited for too. Blocks.
///
/// # Errors
///
/// When a guardian is still there after `limit`, or the state directory cannot be read.
pub fn wait_for_guardians(state_dir: &Path, limit: Duration) -> io::Result<()> {
    match File::open(journal::directory(state_dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => FileLock::within(opened?, LockKind::Exclusive, limit).map(drop),
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the script is started without a run"
)]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs a guardian whose runner is dead. It reads the first line of the journal, and then gets this from `cat`.
    fn guard(journal: &Path, ended: u8) {
        let script = format!("cat() {{ head -n 1 \"$1\"; return {ended}; }}\n{SCRIPT}");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, "runwright-guardian"]);
        command.arg(journal).stdin(Stdio::null());
        assert!(command.status().unwrap().success());
    }

    #[test]
    fn unreadable_journal_is_left_to_the_next_start() {
        for (ended, is_left) in [(0, false), (1, true)] {
            let work = tempfile::tempdir().unwrap();
            let (journal, dir) = (work.path().join("journal"), work.path().join("dir"));
            fs::create_dir(&dir).unwrap();
            let records = format!("dir\t{}\nmarker\tshort\n", dir.display());
            fs::write(&journal, &records).unwrap();
            guard(&journal, ended);
            let found = (dir.exists(), journal.exists());
            assert_eq!(found, (is_left, is_left), "{ended}");
        }
    }
}
