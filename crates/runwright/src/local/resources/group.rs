use fail_point::fail_point;
use pipeline::scheduler::{Contender, ProcessMode};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The directory of one group.
///
/// ```text
/// guard                    held while the queue is looked at or changed
/// holder                   held by the job that is in the group
/// queue/<number>-<run>     held by a job that waits, the numbers in the order of asking
/// expected/<run>           held by a run with jobs that are still to ask
/// ```
///
/// All locks end with their process, so that a dead one never stands in the way: its files are
/// removed by the next that looks.
#[derive(Debug, Clone)]
pub(super) struct Group {
    directory: PathBuf,
}

/// A file that counts as long as this process holds its lock; removed when dropped.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    _lock: File,
}

impl Drop for Mark {
    fn drop(&mut self) {
        // What stays is seen to be dead.
        let _ = fs::remove_file(&self.path);
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(super) struct Ticket {
    number: u64,
    _mark: Mark,
}

impl Group {
    pub(super) fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Says that jobs of a run are still to ask.
    pub(super) fn expect(&self, run: u64) -> io::Result<Mark> {
        self.make_directories()?;
        let _guard = self.guard_soon()?;
        mark(self.expected().join(run.to_string()))
    }

    /// Goes to the end of the queue; `None` when somebody else is just looking at it.
    pub(super) fn enqueue(&self, run: u64) -> io::Result<Option<Ticket>> {
        self.make_directories()?;
        let Some(_guard) = self.guard()? else {
            return Ok(None);
        };
        let last = self.waiting()?.into_iter().map(|(number, _)| number).max();
        let number = last.map_or(0, |last| last.saturating_add(1));
        let mark = mark(self.queue().join(format!("{number}-{run}")))?;
        Ok(Some(Ticket {
            number,
            _mark: mark,
        }))
    }

    /// Takes the group if it is free and the ticket's turn.
    pub(super) fn take(&self, ticket: &Ticket, mode: ProcessMode) -> io::Result<Option<File>> {
        let Some(_guard) = self.guard()? else {
            return Ok(None);
        };
        let mut contenders = Vec::new();
        for (number, run) in self.waiting()? {
            contenders.push(Contender {
                pipeline: run,
                asked: Some(number),
            });
        }
        for run in living(&self.expected(), |name| name.parse().ok())? {
            contenders.push(Contender {
                pipeline: run,
                asked: None,
            });
        }
        let next = mode.next(&contenders).map(|at| contenders[at].asked);
        if next != Some(Some(ticket.number)) {
            return Ok(None);
        }
        try_lock(open(&self.directory.join("holder"))?)
    }

    fn waiting(&self) -> io::Result<Vec<(u64, u64)>> {
        living(&self.queue(), |name| {
            let (number, run) = name.split_once('-')?;
            Some((number.parse().ok()?, run.parse().ok()?))
        })
    }

    fn guard(&self) -> io::Result<Option<File>> {
        try_lock(open(&self.directory.join("guard"))?)
    }

    /// Takes the guard, which nobody holds for longer than it takes to look at a few files.
    fn guard_soon(&self) -> io::Result<File> {
        let guard = open(&self.directory.join("guard"))?;
        guard.lock()?;
        Ok(guard)
    }

    pub(super) fn queue(&self) -> PathBuf {
        self.directory.join("queue")
    }

    fn expected(&self) -> PathBuf {
        self.directory.join("expected")
    }

    fn make_directories(&self) -> io::Result<()> {
        for directory in [self.queue(), self.expected()] {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700);
            fail_point!("runwright::resources::make", builder.create(&directory))?;
        }
        Ok(())
    }
}

/// Returns what the names of those files mean that a living process holds, and removes the others.
fn living<T>(directory: &Path, meaning: impl Fn(&str) -> Option<T>) -> io::Result<Vec<T>> {
    let mut living = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(meant) = name.and_then(&meaning) else {
            continue;
        };
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            // It has just been removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        match try_lock(file)? {
            None => living.push(meant),
            Some(_dead) => {
                let removed = fail_point!("runwright::resources::remove", fs::remove_file(&path));
                removed.or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                })?;
            }
        }
    }
    Ok(living)
}

fn mark(path: PathBuf) -> io::Result<Mark> {
    let file = open(&path)?;
    file.try_lock()?;
    Ok(Mark { path, _lock: file })
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    fail_point!("runwright::resources::open", options.mode(0o600).open(path))
}

fn try_lock(file: File) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
