//! The lock of a run: held while its process lives.

use crate::project::read_file::open_file;
use fail_point::fail_point;
use process::{FileLock, LockKind};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a process other than the run may hold the lock: a reader, or the last child of a killed run.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The lock of a run; the run counts as running until it is dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    _lock: FileLock,
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
        let file = open(directory)?;
        let begun = Instant::now();
        let mut holder = None;
        let gives_up = |file: &mut File| {
            holder = ProcessMark::read(file);
            // A child that is just starting holds its parent's locks for a moment.
            let is_other =
                |holder: ProcessMark| holder.pid != std::process::id() && holder.is_alive();
            holder.is_some_and(is_other) || begun.elapsed() > timeout
        };
        let lock = fail_point!(
            "workstation::state::lock_pipeline",
            FileLock::wait(file, LockKind::Exclusive, gives_up)
        )?;
        let Some(lock) = lock else {
            return Ok(Err(holder.map(|holder| holder.pid)));
        };
        let mark = ProcessMark::own();
        let write = |mut file: &File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{} {}", mark.pid, mark.started)
        };
        fail_point!("workstation::state::name_run", write(lock.file()))?;
        Ok(Ok(Self { _lock: lock }))
    }

    /// Takes the lock of an ended run, to remove it; `None` if it is running.
    pub(crate) fn take_dead(directory: &Path) -> Option<Self> {
        let file = open(directory).ok()?;
        let lock = FileLock::if_free(file, LockKind::Exclusive).ok()??;
        Some(Self { _lock: lock })
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
        let Ok(file) = open_file(&directory.join(FILE)) else {
            return Holder::None;
        };
        match FileLock::attempt(file, LockKind::Shared) {
            Ok(Ok(_)) => Holder::None,
            Ok(Err(mut file)) => Holder::Run(ProcessMark::read(&mut file).map(|mark| mark.pid)),
            Err(_) => Holder::Run(None),
        }
    }
}

/// The file in a run's directory.
const FILE: &str = "lock";

fn open(directory: &Path) -> io::Result<File> {
    fail_point!(
        "workstation::state::open_lock",
        FileLock::open_file(&directory.join(FILE))
    )
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
    #[expect(
        clippy::used_underscore_binding,
        reason = "a copy of the descriptor, as a child inherits it"
    )]
    fn run_counts_as_running_while_its_lock_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(RunLock::holder(path), Holder::None);
        let lock = RunLock::take(path).unwrap().unwrap();
        let own = std::process::id();
        assert_eq!(RunLock::holder(path), Holder::Run(Some(own)));
        let taken = RunLock::take_within(path, Duration::ZERO).unwrap();
        assert_eq!(taken.unwrap_err(), Some(own));
        assert!(RunLock::take_dead(path).is_none());
        let copy = lock._lock.file().try_clone().unwrap();
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
            std::thread::spawn(move || RunLock::take_within(&path, timeout).unwrap().is_ok())
        };
        drop(reader);
        assert!(waiter.join().unwrap());
    }
}
