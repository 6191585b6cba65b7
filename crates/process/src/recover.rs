//! Cleans up after runs that died together with their guardian.

use crate::file_lock::{FileLock, LockKind};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use fail_point::fail_point;

use crate::cgroup;
use crate::error::ProcessError;
use crate::journal::{self, Record};
use crate::mount_table::points_within;
use crate::scan::{self, Sought, State};
use crate::unmount::{remove_job_tree, unmount};

/// How long a starting child of a dead runner may keep the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The leftovers of one dead run, and what was done about them.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovered {
    /// The run.
    pub run: String,
    /// The number of processes with the run's marker that were killed.
    pub killed: usize,
    /// The cgroups that were removed with all their members.
    pub cgroups: Vec<PathBuf>,
    /// The mounts that were removed.
    pub mounts: Vec<PathBuf>,
    /// The temporary directories that were removed.
    pub directories: Vec<PathBuf>,
    /// The errors of removals; the next [`recover`] tries again.
    pub failures: Vec<String>,
    /// The directories that must survive, for a process that resumes jobs of the run.
    pub kept: Vec<PathBuf>,
    /// The records of other kinds, oldest first, as kind and value.
    pub others: Vec<(String, Vec<u8>)>,
    journal: PathBuf,
    /// Holds the lock until the caller has finished.
    _lock: FileLock,
}

impl Recovered {
    /// Removes the directories in [`kept`](Self::kept), when no job is resumed. Blocks.
    pub fn remove_kept(&mut self) {
        for path in std::mem::take(&mut self.kept) {
            self.remove_dir(&path);
        }
    }

    /// Removes the journal, after the caller has handled [`kept`](Self::kept) and [`others`](Self::others).
    ///
    /// Until then every [`recover`] reports them again.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be removed.
    pub fn forget(self) -> Result<(), ProcessError> {
        remove_file(&self.journal).map_err(|source| ProcessError::Journal {
            path: self.journal,
            source,
        })
    }
}

/// Ends all processes and removes all files of dead runs, as their guardians would.
///
/// A run with a locked journal is alive and not touched. It may run at the same time as a guardian, and any number of
/// times. It blocks while processes die; without dead runs it returns at once.
///
/// # Errors
///
/// Fails if the directory of journals cannot be read. Errors of a single run are in its report.
pub fn recover(state_dir: &Path) -> Result<Vec<Recovered>, ProcessError> {
    let directory = journal::directory(state_dir);
    let error = |source| ProcessError::Journal {
        path: directory.clone(),
        source,
    };
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(source)),
    };
    let mut recovered = Vec::new();
    for entry in entries {
        let path = entry.map_err(error)?.path();
        let Some(lock) = lock_dead(&path).map_err(|source| ProcessError::Journal {
            path: path.clone(),
            source,
        })?
        else {
            continue;
        };
        recovered.push(sweep(path, lock));
    }
    Ok(recovered)
}

/// Opens and locks a journal; `None` if its run is alive or the journal is gone.
fn lock_dead(path: &Path) -> io::Result<Option<FileLock>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A child that a killed runner was starting has the file open, and so the lock, until its `execve`. That is a short
    // time, but a killed runner may be restarted at once. After the deadline, the runner may be alive in another PID
    // namespace.
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let is_alive = |_: &mut File| runner_lives(path) || Instant::now() > deadline;
    let Some(lock) = FileLock::wait(file, LockKind::Exclusive, is_alive)? else {
        return Ok(None);
    };
    let hidden = path
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    if hidden {
        // Not locked yet, or a leftover of a run that died at that moment.
        remove_if_old(path, lock.file())?;
        return Ok(None);
    }
    Ok(Some(lock))
}

fn runner_lives(journal: &Path) -> bool {
    let records = journal::read(&fs::read(journal).unwrap_or_default());
    records.iter().any(|record| match record {
        Record::Runner(pid) => scan::process(*pid).is_some_and(|found| found.state == State::Alive),
        _ => false,
    })
}

fn remove_if_old(path: &Path, file: &File) -> io::Result<()> {
    let modified = file.metadata()?.modified()?;
    let age = SystemTime::now()
        .duration_since(modified)
        .unwrap_or_default();
    if age > Duration::from_hours(1) {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn sweep(journal: PathBuf, lock: FileLock) -> Recovered {
    let run = journal
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut recovered = Recovered {
        run,
        killed: 0,
        cgroups: Vec::new(),
        mounts: Vec::new(),
        directories: Vec::new(),
        failures: Vec::new(),
        kept: Vec::new(),
        others: Vec::new(),
        journal,
        _lock: lock,
    };
    match fs::read(&recovered.journal) {
        Ok(text) => recovered.apply(&journal::read(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return recovered,
        Err(error) => recovered
            .failures
            .push(format!("read the journal: {error}")),
    }
    if recovered.failures.is_empty()
        && recovered.others.is_empty()
        && recovered.kept.is_empty()
        && let Err(error) = remove_file(&recovered.journal)
    {
        let failure = format!("remove the journal: {error}");
        recovered.failures.push(failure);
    }
    recovered
}

impl Recovered {
    /// Ends processes first, since they could write, and then removes files.
    fn apply(&mut self, records: &[Record]) {
        for record in records {
            if let Record::Cgroup(path) = record {
                self.end_cgroup(path);
            }
        }
        for record in records {
            if let Record::Marker(prefix) = record {
                self.end_marked(prefix);
            }
        }
        // A mount in a directory would be emptied with it.
        for record in records {
            if let Record::Mount(path) = record {
                self.unmount(path);
            }
        }
        let left = records.iter().filter_map(|record| match record {
            // A missing directory cannot be used to resume.
            Record::Left(path) if fs::symlink_metadata(path).is_ok() => Some(path.clone()),
            _ => None,
        });
        self.kept = left.collect();
        for record in records {
            match record {
                Record::Dir(path) if self.kept.iter().any(|left| path.starts_with(left)) => {}
                Record::Dir(path) => self.remove_dir(path),
                Record::Other { kind, value } => self.others.push((kind.clone(), value.clone())),
                Record::Runner(_)
                | Record::Cgroup(_)
                | Record::Marker(_)
                | Record::Mount(_)
                | Record::Left(_) => {}
            }
        }
    }

    fn end_cgroup(&mut self, path: &Path) {
        if !path.exists() {
            return;
        }
        let removed = fail_point!(
            "process::recover::end_cgroup",
            cgroup::remove_blocking(path, cgroup::DEATH_DEADLINE)
        );
        match removed {
            Ok(()) => self.cgroups.push(path.to_owned()),
            Err(error) => self
                .failures
                .push(format!("remove {}: {error}", path.display())),
        }
    }

    fn end_marked(&mut self, prefix: &str) {
        match scan::end(Sought::MarkerPrefix(prefix), &[], || {
            scan::with_lock_limit(prefix)
        }) {
            Ok(found) => self.killed += found,
            Err(left) => self
                .failures
                .push(format!("{left} processes survive SIGKILL")),
        }
    }

    fn unmount(&mut self, path: &Path) {
        // A symbolic link in the path could lead to files that are not the run's.
        if fs::canonicalize(path).is_ok_and(|real| real != path) {
            return;
        }
        // Without the right to unmount this fails even when nothing is mounted, as after the end of a namespace.
        if points_within(path).is_ok_and(|points| points.is_empty()) {
            return;
        }
        match fail_point!("process::recover::unmount", unmount(path)) {
            Ok(true) => self.mounts.push(path.to_owned()),
            Ok(false) => {}
            Err(error) => self
                .failures
                .push(format!("unmount {}: {error}", path.display())),
        }
    }

    fn remove_dir(&mut self, path: &Path) {
        // The guardian does not follow a link here either.
        if fs::symlink_metadata(path).is_err() {
            return;
        }
        match fail_point!("process::recover::remove_dir", remove_job_tree(path)) {
            Ok(()) => self.directories.push(path.to_owned()),
            Err(error) => self
                .failures
                .push(format!("remove {}: {error}", path.display())),
        }
    }
}

fn remove_file(journal: &Path) -> io::Result<()> {
    match fail_point!("process::recover::remove_journal", fs::remove_file(journal)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
