//! The lock of a run: held while its process lives.

use crate::project::read_file::open_file;
use fail_point::fail_point;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a process other than the run may hold the lock: a reader, or the last child of a killed run.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of a run; the run counts as running until it is dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A child process that is just starting has the file too, and would hold the lock for a moment.
        let _ = self.file.unlock();
    }
}

/// The holder of a run's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// None: the run has ended, or was killed.
    None,
    /// The process of the run, if known.
    Run(Option<u32>),
}

impl RunLock {
    /// Takes the lock in a run's directory; `Err(holder)` inside if the run is running.
    pub(crate) fn take(directory: &Path) -> io::Result<Result<Self, Option<u32>>> {
        Self::take_within(directory, LOCK_TIMEOUT)
    }

    fn take_within(directory: &Path, timeout: Duration) -> io::Result<Result<Self, Option<u32>>> {
        let mut file = open(directory)?;
        let begun = Instant::now();
        loop {
            match fail_point!(
                "runwright::state::lock_pipeline",
                file.try_lock().map_err(LockError::from)
            ) {
                Ok(()) => break,
                Err(LockError::Held) => {}
                Err(LockError::Io(error)) => return Err(error),
            }
            let holder = ProcessMark::read(&mut file);
            // A child that is just starting holds its parent's locks for a moment.
            let is_other =
                |holder: ProcessMark| holder.pid != std::process::id() && holder.is_alive();
            if holder.is_some_and(is_other) || begun.elapsed() > timeout {
                return Ok(Err(holder.map(|holder| holder.pid)));
            }
            thread::sleep(PAUSE);
        }
        let mark = ProcessMark::own();
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{} {}", mark.pid, mark.started)
        };
        fail_point!("runwright::state::name_run", write(&mut file))?;
        Ok(Ok(Self { file }))
    }

    /// Takes the lock of an ended run, to remove it; `None` if it is running.
    pub(crate) fn take_dead(directory: &Path) -> Option<Self> {
        let file = open(directory).ok()?;
        file.try_lock().is_ok().then_some(Self { file })
    }

    /// Returns whether a process ever took the lock.
    pub(super) fn was_taken(directory: &Path) -> bool {
        // Its holder writes its process id.
        fs::metadata(directory.join(FILE)).is_ok_and(|found| found.len() > 0)
    }

    /// Returns whether the run is running.
    pub(crate) fn is_held(directory: &Path) -> bool {
        Self::holder(directory) != Holder::None
    }

    /// Returns the holder of the lock.
    pub(super) fn holder(directory: &Path) -> Holder {
        let Ok(mut file) = open_file(&directory.join(FILE)) else {
            return Holder::None;
        };
        match file.try_lock_shared() {
            Ok(()) => Holder::None,
            Err(_) => Holder::Run(ProcessMark::read(&mut file).map(|mark| mark.pid)),
        }
    }
}

/// The file in a run's directory.
const FILE: &str = "lock";

fn open(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    fail_point!(
        "runwright::state::open_lock",
        options.open(directory.join(FILE))
    )
}

/// Why a lock cannot be taken.
enum LockError {
    Held,
    Io(io::Error),
}

impl From<TryLockError> for LockError {
    fn from(error: TryLockError) -> Self {
        match error {
            TryLockError::WouldBlock => Self::Held,
            TryLockError::Error(error) => Self::Io(error),
        }
    }
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A process; its start time tells it from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessMark {
    pid: u32,
    /// In ticks since the machine started; 0 if unknown.
    started: u64,
}

impl ProcessMark {
    fn own() -> Self {
        Self {
            pid: std::process::id(),
            started: started("self").unwrap_or(0),
        }
    }

    fn read(file: &mut File) -> Option<Self> {
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(64).read_to_string(&mut text).ok()?;
        let (pid, started) = text.split_once(' ')?;
        Some(Self {
            pid: pid.parse().ok()?,
            started: started.trim().parse().ok()?,
        })
    }

    fn is_alive(self) -> bool {
        self.started == 0 || started(&self.pid.to_string()) == Some(self.started)
    }
}

/// Returns when a running process started, if the system says.
fn started(process: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may contain spaces and parentheses.
    let fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let mut fields = fields.skip(FIELDS_BEFORE_START);
    fields.next()?.parse().ok()
}

/// How many fields of `stat` are between the name and the start.
const FIELDS_BEFORE_START: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_counts_as_running_while_its_lock_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(RunLock::holder(path), Holder::None);
        let lock = RunLock::take(path).unwrap().unwrap();
        let own = std::process::id();
        assert_eq!(RunLock::holder(path), Holder::Run(Some(own)));
        let taken = RunLock::take_within(path, PAUSE).unwrap();
        assert_eq!(taken.unwrap_err(), Some(own));
        assert!(RunLock::take_dead(path).is_none());
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        assert_eq!(RunLock::holder(path), Holder::None);
        drop(copy);
        assert!(RunLock::take_dead(path).is_some());
        RunLock::take(path).unwrap().unwrap();
    }

    #[test]
    fn taking_the_lock_waits_for_readers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        // The file names a process that ended long ago.
        fs::write(path.join(FILE), format!("{} 1", std::process::id())).unwrap();
        let reader = File::open(path.join(FILE)).unwrap();
        reader.lock_shared().unwrap();
        let waiter = {
            let path = path.to_owned();
            let timeout = Duration::from_mins(1);
            thread::spawn(move || RunLock::take_within(&path, timeout).unwrap().is_ok())
        };
        drop(reader);
        assert!(waiter.join().unwrap());
    }
}
