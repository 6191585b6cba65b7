//! The lock of a run: held while it lives, whatever kills it.

use crate::project::file::open_file;
use fail_point::fail_point;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long somebody else may hold the lock who is no run: who looks, or the last child of one that
/// was killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a lock is tried that nobody living should have.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of a run; the run counts as living until it is dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A child that is being made has the file too, and would keep the lock for a moment.
        let _ = self.file.unlock();
    }
}

/// Who has the lock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// Nobody: the run has ended, or was killed.
    Nobody,
    /// The process of the run, as far as it is known.
    Run(Option<u32>),
}

impl RunLock {
    /// Takes the lock in a run's directory; `Err(holder)` inside when the run lives.
    pub(crate) fn take(directory: &Path) -> io::Result<Result<Self, Option<u32>>> {
        Self::take_within(directory, PATIENCE)
    }

    fn take_within(directory: &Path, patience: Duration) -> io::Result<Result<Self, Option<u32>>> {
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
            let holder = Mark::read(&mut file);
            // A process that starts another has its locks twice, for a moment.
            let is_other = |holder: Mark| holder.pid != std::process::id() && holder.is_alive();
            if holder.is_some_and(is_other) || begun.elapsed() > patience {
                return Ok(Err(holder.map(|holder| holder.pid)));
            }
            thread::sleep(PAUSE);
        }
        let mark = Mark::own();
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{} {}", mark.pid, mark.started)
        };
        fail_point!("runwright::state::name_run", write(&mut file))?;
        Ok(Ok(Self { file }))
    }

    /// Takes the lock of a run that has ended, to remove it; `None` when it lives.
    pub(crate) fn take_dead(directory: &Path) -> Option<Self> {
        let file = open(directory).ok()?;
        file.try_lock().is_ok().then_some(Self { file })
    }

    /// Returns whether anybody ever had it.
    pub(super) fn was_taken(directory: &Path) -> bool {
        // Whoever has it writes down who he is.
        fs::metadata(directory.join(FILE)).is_ok_and(|found| found.len() > 0)
    }

    /// Returns whether the run lives.
    pub(crate) fn lives(directory: &Path) -> bool {
        Self::holder(directory) != Holder::Nobody
    }

    /// Returns who has the lock.
    pub(super) fn holder(directory: &Path) -> Holder {
        let Ok(mut file) = open_file(&directory.join(FILE)) else {
            return Holder::Nobody;
        };
        match file.try_lock_shared() {
            Ok(()) => Holder::Nobody,
            Err(_) => Holder::Run(Mark::read(&mut file).map(|mark| mark.pid)),
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

/// Why a lock is not to be had.
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

/// A process, told from a later one with its number by when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    pid: u32,
    /// In ticks since the machine started; 0 where that is not known.
    started: u64,
}

impl Mark {
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

/// Returns when a process started, if it lives and the system says.
fn started(process: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
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
    fn a_run_lives_while_its_lock_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(RunLock::holder(path), Holder::Nobody);
        let lock = RunLock::take(path).unwrap().unwrap();
        let own = std::process::id();
        assert_eq!(RunLock::holder(path), Holder::Run(Some(own)));
        let taken = RunLock::take_within(path, PAUSE).unwrap();
        assert_eq!(taken.unwrap_err(), Some(own));
        assert!(RunLock::take_dead(path).is_none());
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        assert_eq!(RunLock::holder(path), Holder::Nobody);
        drop(copy);
        assert!(RunLock::take_dead(path).is_some());
        RunLock::take(path).unwrap().unwrap();
    }

    #[test]
    fn who_only_looks_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        // A process that has long ended is named.
        fs::write(path.join(FILE), format!("{} 1", std::process::id())).unwrap();
        let looks = File::open(path.join(FILE)).unwrap();
        looks.lock_shared().unwrap();
        let waiter = {
            let path = path.to_owned();
            let patience = Duration::from_mins(1);
            thread::spawn(move || RunLock::take_within(&path, patience).unwrap().is_ok())
        };
        drop(looks);
        assert!(waiter.join().unwrap());
    }
}
