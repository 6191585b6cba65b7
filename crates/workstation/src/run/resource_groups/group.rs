use fail_point::fail_point;
use process::{FileLock, LockKind, make_private_dir_all};
use scheduler::{Contender, ProcessMode};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory of one group.
///
/// ```text
/// guard                    locked while a process reads or changes the queue
/// holder                   locked by the job that is in the group
/// queue/<number>-<run>     locked by a job that waits; numbers are in the order of requests
/// expected/<run>           locked by a run with jobs that will request the group
/// ```
///
/// All locks end with their process. Files without a lock are removed by the next process that reads them. An
/// unused group is removed under its guard; a process that gets the guard of a removed directory starts again.
#[derive(Debug, Clone)]
pub(super) struct Group {
    directory: PathBuf,
}

/// A file that counts while this process locks it; removed when dropped.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    _lock: FileLock,
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Without a lock, it is ignored if it stays.
        let _ = fs::remove_file(&self.path);
    }
}

/// A position in the queue.
#[derive(Debug)]
pub(super) struct Ticket {
    number: u64,
    _mark: Mark,
}

impl Group {
    pub(super) fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Announces that jobs of a run will request the group. Blocks for at most `limit` while another process has the
    /// guard.
    pub(super) fn expect(&self, run: u64, limit: Duration) -> io::Result<Mark> {
        let _guard = loop {
            make(&self.directory)?;
            if let Some(guard) = self.guard_within(limit)? {
                break guard;
            }
        };
        make(&self.expected())?;
        mark(self.expected().join(run.to_string()))
    }

    /// Joins the end of the queue; `None` while another process has the guard.
    pub(super) fn enqueue(&self, run: u64) -> io::Result<Option<Ticket>> {
        make(&self.directory)?;
        let Some(_guard) = self.guard()? else {
            return Ok(None);
        };
        make(&self.queue())?;
        let last = self.last_number()?;
        let number = last.map_or(0, |last| last.saturating_add(1));
        let mark = mark(self.queue().join(format!("{number}-{run}")))?;
        Ok(Some(Ticket {
            number,
            _mark: mark,
        }))
    }

    /// Takes the group if it is free and the ticket is next.
    pub(super) fn take(&self, ticket: &Ticket, mode: ProcessMode) -> io::Result<Option<FileLock>> {
        let Some(_guard) = self.guard()? else {
            return Ok(None);
        };
        // First, since reading the queue may take long.
        let Some(holder) = try_lock(open(&self.directory.join("holder"))?)? else {
            return Ok(None);
        };
        let mut contenders = Vec::new();
        for (number, run) in self.waiting()? {
            contenders.push(Contender {
                pipeline: run,
                asked: Some(number),
            });
        }
        for run in self.expected_runs()? {
            contenders.push(Contender {
                pipeline: run,
                asked: None,
            });
        }
        let next = mode.next(&contenders).map(|at| contenders[at].asked);
        Ok((next == Some(Some(ticket.number))).then_some(holder))
    }

    /// Removes the group, unless a job is in it, waits for it or will request it.
    pub(super) fn remove_unused(&self) -> io::Result<()> {
        let Some(_guard) = self.guard()? else {
            return Ok(());
        };
        let is_awaited = !self.waiting()?.is_empty() || !self.expected_runs()?.is_empty();
        let holder = self.directory.join("holder");
        if is_awaited || try_lock(open(&holder)?)?.is_none() {
            return Ok(());
        }
        let guard = self.guard_path();
        let all = [
            &self.queue(),
            &self.expected(),
            &holder,
            &guard,
            &self.directory,
        ];
        all.into_iter().try_for_each(|path| remove(path))
    }

    fn expected_runs(&self) -> io::Result<Vec<u64>> {
        living(&self.expected(), |name| name.parse().ok())
    }

    /// Returns the highest number in the queue, also of dead processes.
    fn last_number(&self) -> io::Result<Option<u64>> {
        let mut last = None;
        for entry in fs::read_dir(self.queue())? {
            let name = entry?.file_name();
            let entry = name.to_str().and_then(queue_entry);
            last = last.max(entry.map(|(number, _)| number));
        }
        Ok(last)
    }

    fn waiting(&self) -> io::Result<Vec<(u64, u64)>> {
        living(&self.queue(), queue_entry)
    }

    /// Locks the guard; `None` if another process has it, or it was just removed.
    fn guard(&self) -> io::Result<Option<FileLock>> {
        let Some(guard) = self.open_guard()? else {
            return Ok(None);
        };
        match try_lock(guard)? {
            Some(guard) if guard.is_file(fs::metadata(self.guard_path()))? => Ok(Some(guard)),
            _ => Ok(None),
        }
    }

    /// Waits for the guard, which is held only while a few files are read; `None` if it was just removed.
    fn guard_within(&self, limit: Duration) -> io::Result<Option<FileLock>> {
        let Some(guard) = self.open_guard()? else {
            return Ok(None);
        };
        let guard = FileLock::within(guard, LockKind::Exclusive, limit)?;
        let is_current = guard.is_file(fs::metadata(self.guard_path()))?;
        Ok(is_current.then_some(guard))
    }

    fn open_guard(&self) -> io::Result<Option<File>> {
        match open(&self.guard_path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn guard_path(&self) -> PathBuf {
        self.directory.join("guard")
    }

    pub(super) fn queue(&self) -> PathBuf {
        self.directory.join("queue")
    }

    fn expected(&self) -> PathBuf {
        self.directory.join("expected")
    }
}

/// Returns the number and the run of a file in the queue.
fn queue_entry(name: &str) -> Option<(u64, u64)> {
    let (number, run) = name.split_once('-')?;
    Some((number.parse().ok()?, run.parse().ok()?))
}

fn make(directory: &Path) -> io::Result<()> {
    fail_point!(
        "workstation::resources::make",
        make_private_dir_all(directory)
    )
}

/// Parses the names of files that a process has locked, and removes the others.
fn living<T>(directory: &Path, parse: impl Fn(&str) -> Option<T>) -> io::Result<Vec<T>> {
    let mut living = Vec::new();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(living),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(parsed) = name.and_then(&parse) else {
            continue;
        };
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            // Another process removed it just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        match try_lock(file)? {
            None => living.push(parsed),
            Some(_dead) => {
                remove(&path)?;
            }
        }
    }
    Ok(living)
}

/// Removes a file or a directory; one that another process uses again stays.
fn remove(path: &Path) -> io::Result<()> {
    let remove = || {
        if path.is_dir() {
            fs::remove_dir(path)
        } else {
            fs::remove_file(path)
        }
    };
    match fail_point!("workstation::resources::remove", remove()) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            Ok(())
        }
        removed => removed,
    }
}

fn mark(path: PathBuf) -> io::Result<Mark> {
    let lock = try_lock(open(&path)?)?.ok_or(io::ErrorKind::WouldBlock)?;
    Ok(Mark { path, _lock: lock })
}

fn open(path: &Path) -> io::Result<File> {
    fail_point!("workstation::resources::open", FileLock::open_file(path))
}

fn try_lock(file: File) -> io::Result<Option<FileLock>> {
    FileLock::if_free(file, LockKind::Exclusive)
}
