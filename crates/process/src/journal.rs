//! The record of the resources of a run, written before they are created.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use fail_point::fail_point;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::process::Pid;

use crate::error::ProcessError;
use crate::private_dir::make_private_dir_all;

/// The kind of the record of the runner itself.
const RUNNER: &str = "runner";
/// The kinds that the guardian and [`recover`](crate::recover) handle.
const CGROUP: &str = "cgroup";
const MARKER: &str = "marker";
const MOUNT: &str = "mount";
const DIR: &str = "dir";
const LEFT: &str = "left";

/// The journal of one run: `journal/<run>` in the state directory.
///
/// One record a line, `kind<TAB>value`; a leading `-` revokes a record. The file is locked during the run, which
/// distinguishes dead runs from living ones. Lines are in the page cache when [`record`](Self::record) returns:
/// they survive the runner but not the machine, and neither do the processes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Holds the lock. Close-on-exec, so that no child keeps it.
    file: File,
}

impl Journal {
    /// Creates and locks the journal of a run; only its owner may read it.
    pub(crate) fn create(state_dir: &Path, run: &str) -> Result<Self, ProcessError> {
        let directory = directory(state_dir);
        let path = directory.join(run);
        let make = || -> io::Result<File> {
            fail_point!(
                "process::journal::make_dir",
                make_private_dir_all(&directory)
            )?;
            // Published only when locked, so that another process does not take the run for dead.
            match create_unnamed(&directory, &path) {
                Err(error) if !is_final(&error) => create_temporary(&directory, run, &path),
                made => made,
            }
        };
        match make() {
            Ok(file) => Ok(Self {
                path: std::path::absolute(&path).unwrap_or(path),
                file,
            }),
            Err(source) => Err(ProcessError::Journal { path, source }),
        }
    }

    /// Records a resource before it is created, so that it can be removed after a crash.
    ///
    /// This crate removes the resources that it records itself. [`recover`](crate::recover) returns records of other
    /// kinds.
    ///
    /// # Errors
    ///
    /// Fails if the disk fails, or if kind or value contain a tab or newline. The resource must then not be created.
    pub fn record(&self, kind: &str, value: impl AsRef<OsStr>) -> Result<(), ProcessError> {
        self.append("", kind, value.as_ref())
    }

    /// Revokes a record of a resource that is gone.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn forget(&self, kind: &str, value: impl AsRef<OsStr>) -> Result<(), ProcessError> {
        self.append("-", kind, value.as_ref())
    }

    /// Records a directory before it is created, so that the guardian removes it after a crash.
    ///
    /// Only absolute paths without `.` and `..`, and not directly below the root, are removed.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn record_dir(&self, path: &Path) -> Result<(), ProcessError> {
        self.record(DIR, path)
    }

    /// Revokes the record of a directory that is gone, or was not created.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn forget_dir(&self, path: &Path) -> Result<(), ProcessError> {
        self.forget(DIR, path)
    }

    /// Records a directory that must survive a crash, with all its content.
    ///
    /// The next start gets it from [`recover`](crate::recover) and decides. Recorded directories in it survive too.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn record_kept(&self, path: &Path) -> Result<(), ProcessError> {
        self.record(LEFT, path)
    }

    /// Revokes the record: the directory need not survive a crash any more.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn forget_kept(&self, path: &Path) -> Result<(), ProcessError> {
        self.forget(LEFT, path)
    }

    pub(crate) fn record_mount(&self, path: &Path) -> Result<(), ProcessError> {
        self.record(MOUNT, path)
    }

    pub(crate) fn forget_mount(&self, path: &Path) -> Result<(), ProcessError> {
        self.forget(MOUNT, path)
    }

    pub(crate) fn record_cgroup(&self, path: &Path) -> Result<(), ProcessError> {
        self.record(CGROUP, path)
    }

    pub(crate) fn record_marker(&self, prefix: &str) -> Result<(), ProcessError> {
        self.record(MARKER, prefix)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal after an orderly end.
    ///
    /// It is kept if it has records of other kinds, or a directory that could not be removed; the next start handles
    /// both.
    pub(crate) fn finish(&self) -> Result<(), ProcessError> {
        let error = |source| ProcessError::Journal {
            path: self.path.clone(),
            source,
        };
        let text = fs::read(&self.path).map_err(error)?;
        let is_open = |record: &Record| match record {
            Record::Other { .. } => true,
            Record::Dir(path) | Record::Mount(path) | Record::Left(path) => {
                fs::symlink_metadata(path).is_ok()
            }
            Record::Runner(_) | Record::Cgroup(_) | Record::Marker(_) => false,
        };
        if read(&text).iter().any(is_open) {
            return Ok(());
        }
        fail_point!("process::journal::remove", fs::remove_file(&self.path)).map_err(error)
    }

    fn append(&self, sign: &str, kind: &str, value: &OsStr) -> Result<(), ProcessError> {
        let plain = |bytes: &[u8]| !bytes.iter().any(|byte| matches!(byte, b'\t' | b'\n' | 0));
        let kind_fits = !kind.is_empty() && !kind.starts_with('-') && plain(kind.as_bytes());
        if !kind_fits || value.is_empty() || !plain(value.as_bytes()) {
            return Err(ProcessError::Unrecordable {
                kind: kind.to_owned(),
            });
        }
        let mut line = format!("{sign}{kind}\t").into_bytes();
        line.extend_from_slice(value.as_bytes());
        line.push(b'\n');
        // A single write, so that a crash leaves at most one incomplete line at the end.
        fail_point!("process::journal::append", (&self.file).write_all(&line)).map_err(|source| {
            ProcessError::Journal {
                path: self.path.clone(),
                source,
            }
        })
    }
}

/// Creates the file without a name, so that a runner killed meanwhile leaves nothing.
fn create_unnamed(directory: &Path, path: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?);
    begin(&file)?;
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    fail_point!(
        "process::journal::publish",
        rustix::fs::linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)
            .map_err(io::Error::from)
    )?;
    Ok(file)
}

/// Creates the file under a temporary name, on file systems without unnamed files.
fn create_temporary(directory: &Path, run: &str, path: &Path) -> io::Result<File> {
    let temporary = directory.join(format!(".{run}"));
    let mut options = OpenOptions::new();
    options.append(true).create_new(true).mode(0o600);
    let file = options.open(&temporary)?;
    let named = begin(&file).and_then(|()| fs::rename(&temporary, path));
    if named.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    named.map(|()| file)
}

/// Locks a new journal and writes the record of the runner.
fn begin(mut file: &File) -> io::Result<()> {
    file.try_lock().map_err(io::Error::from)?;
    fail_point!(
        "process::journal::begin",
        file.write_all(format!("{RUNNER}\t{}\n", std::process::id()).as_bytes())
    )
}

/// Returns whether another way of creating the file would fail too.
fn is_final(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Returns the directory of journals in a state directory.
pub(crate) fn directory(state_dir: &Path) -> PathBuf {
    state_dir.join("journal")
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// The runner's process number.
    Runner(Pid),
    /// A run's cgroup.
    Cgroup(PathBuf),
    /// The prefix of the markers of a run's processes.
    Marker(String),
    /// A mount point of the run.
    Mount(PathBuf),
    /// A temporary directory.
    Dir(PathBuf),
    /// A directory that must survive a crash.
    Left(PathBuf),
    /// A resource of another crate.
    Other { kind: String, value: Vec<u8> },
}

/// Reads a journal without revoked records.
///
/// An incomplete last line is ignored: its resource was not created.
pub(crate) fn read(text: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else {
            continue;
        };
        let is_revoked = line.first() == Some(&b'-');
        let Some(record) = parse(line.strip_prefix(b"-").unwrap_or(line)) else {
            continue;
        };
        if is_revoked {
            records.retain(|known| *known != record);
        } else {
            records.push(record);
        }
    }
    records
}

/// Reads one line; `None` for a line that no run writes.
///
/// The values are killed and deleted, so a damaged line is ignored.
fn parse(line: &[u8]) -> Option<Record> {
    let split = line.iter().position(|byte| *byte == b'\t')?;
    let kind = std::str::from_utf8(&line[..split]).ok()?;
    let value = &line[split + 1..];
    let path = PathBuf::from(OsStr::from_bytes(value));
    match kind {
        RUNNER => crate::scan::number(std::str::from_utf8(value).ok()?).map(Record::Runner),
        CGROUP => is_run_group(&path).then_some(Record::Cgroup(path)),
        MARKER => {
            let marker = std::str::from_utf8(value).ok()?;
            (marker.len() >= 32 && marker.ends_with('.')).then(|| Record::Marker(marker.to_owned()))
        }
        MOUNT => is_deep(&path).then_some(Record::Mount(path)),
        DIR => is_deep(&path).then_some(Record::Dir(path)),
        LEFT => is_deep(&path).then_some(Record::Left(path)),
        _ => Some(Record::Other {
            kind: kind.to_owned(),
            value: value.to_vec(),
        }),
    }
}

fn is_run_group(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    is_deep(path) && name.starts_with(b"runwright-")
}

/// Returns whether a path is absolute, without `.` and `..`, and not directly below the root.
fn is_deep(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && path
            .components()
            .skip(1)
            .all(|part| matches!(part, Component::Normal(_)))
        && parts.count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[Record]) {
        assert_eq!(read(text.as_bytes()), expected, "{text:?}");
    }

    fn other(kind: &str, value: &str) -> Record {
        Record::Other {
            kind: kind.to_owned(),
            value: value.into(),
        }
    }

    #[test]
    fn records_are_read_in_order_without_revoked_ones() {
        check("", &[]);
        check(
            "dir\t/tmp/a\ncontainer\tc1\n",
            &[Record::Dir("/tmp/a".into()), other("container", "c1")],
        );
        check(
            "container\tc1\ncontainer\tc2\n-container\tc1\n",
            &[other("container", "c2")],
        );
    }

    #[test]
    fn incomplete_last_line_is_ignored() {
        check("dir\t/tmp/a\ndir\t/tmp", &[Record::Dir("/tmp/a".into())]);
        check("dir\t/tmp/a\ndir", &[Record::Dir("/tmp/a".into())]);
    }

    #[test]
    fn dangerous_paths_are_ignored() {
        for value in ["/", "/tmp", "tmp/a", "/tmp/../etc/x", ""] {
            check(&format!("dir\t{value}\n"), &[]);
            check(&format!("mount\t{value}\n"), &[]);
        }
        check("cgroup\t/sys/fs/cgroup/system.slice\n", &[]);
        check("marker\t\n", &[]);
        check("marker\tabc.\n", &[]);
    }

    #[test]
    fn unwritable_record_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::create(state.path(), "run").unwrap();
        for (kind, value) in [
            ("", "v"),
            ("-k", "v"),
            ("a\tb", "v"),
            ("k", "a\nb"),
            ("k", ""),
        ] {
            let error = journal.record(kind, value).unwrap_err();
            assert!(
                matches!(error, ProcessError::Unrecordable { .. }),
                "{kind:?} {value:?}"
            );
        }
        journal.finish().unwrap();
        assert!(!journal.path().exists());
    }

    #[test]
    fn journal_with_open_records_stays() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::create(state.path(), "run").unwrap();
        journal.record("container", "c1").unwrap();
        journal.finish().unwrap();
        assert!(journal.path().exists());
        journal.forget("container", "c1").unwrap();
        journal.finish().unwrap();
        assert!(!journal.path().exists());
    }
}
