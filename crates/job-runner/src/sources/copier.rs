use super::error::SnapshotError;
use super::method::BlockSharing;
use executor_core::Cancellation;
use fail_point::fail_point;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, copy_file_range,
    fchmod, futimens, ioctl_ficlone, openat, readlinkat, statat, symlinkat, utimensat,
};
use rustix::io::{Errno, read, write};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The largest number of threads; more of them only wait for the same disk.
const MAX_THREADS: usize = 8;
/// Fewer files than this are copied before a thread starts.
const FILES_PER_THREAD: usize = 64;
/// The number of files of one directory that a thread claims at a time.
const BATCH: usize = 64;
/// Up to this size, reading and writing are faster than a copy by the kernel.
const SMALL: u64 = 128 * 1024;

/// Copies files from one tree to another.
#[derive(Debug)]
pub(crate) struct Copier<'c> {
    pub(crate) from: &'c Path,
    pub(crate) to: &'c Path,
    pub(crate) sharing: BlockSharing,
    pub(crate) cancellation: &'c Cancellation,
}

/// The result of a copy.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    pub(crate) bytes: u64,
    /// The indexes of files that did not exist.
    pub(crate) missing: Vec<usize>,
}

impl Copier<'_> {
    /// Copies the files on several threads. Their directories must exist.
    ///
    /// Links are copied as links, and times are kept, so that a transfer to another host recognizes unchanged files. Sockets,
    /// pipes and devices count as missing.
    ///
    /// # Cancellation
    ///
    /// Stops between two files with [`SnapshotError::Stopped`].
    pub(crate) fn copy(&self, files: &[impl AsRef<Path>]) -> Result<Copied, SnapshotError> {
        let mut by_parent: BTreeMap<&Path, Vec<(usize, &OsStr)>> = BTreeMap::new();
        for (index, file) in files.iter().enumerate() {
            let file = file.as_ref();
            if let (Some(parent), Some(name)) = (file.parent(), file.file_name()) {
                by_parent.entry(parent).or_default().push((index, name));
            }
        }
        let batches = by_parent.iter().flat_map(|(parent, names)| {
            let parent: &Path = parent;
            names
                .chunks(BATCH)
                .map(move |names| Batch { parent, names })
        });
        let batches: Vec<Batch<'_>> = batches.collect();
        let run = Run {
            copier: self,
            batches: &batches,
            next: AtomicUsize::new(0),
            sharing: AtomicBool::new(self.sharing != BlockSharing::Disabled),
        };
        let useful = (files.len() / FILES_PER_THREAD).min(MAX_THREADS);
        if useful <= 1 {
            return run.work();
        }
        // Asked for late: the answer takes as long as copying a few files.
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = useful.min(processors);
        thread::scope(|scope| {
            // With fewer threads than wanted it takes longer. This thread is one of them.
            let start = |_| {
                thread::Builder::new()
                    .spawn_scoped(scope, || run.work())
                    .ok()
            };
            let workers: Vec<_> = (1..threads).map_while(start).collect();
            let mut copied = run.work()?;
            for worker in workers {
                let part = worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                copied.bytes += part.bytes;
                copied.missing.extend(part.missing);
            }
            Ok(copied)
        })
    }
}

/// Some files of one directory.
struct Batch<'b> {
    parent: &'b Path,
    names: &'b [(usize, &'b OsStr)],
}

/// A running copy.
struct Run<'r> {
    copier: &'r Copier<'r>,
    batches: &'r [Batch<'r>],
    next: AtomicUsize,
    /// Whether to try to share blocks; false once the file system refused.
    sharing: AtomicBool,
}

impl Run<'_> {
    fn work(&self) -> Result<Copied, SnapshotError> {
        let mut copied = Copied::default();
        let mut buffer = vec![0; usize::try_from(SMALL).unwrap_or(0)];
        while let Some(batch) = self.batches.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            self.copy_batch(batch, &mut buffer, &mut copied)?;
        }
        Ok(copied)
    }

    fn copy_batch(
        &self,
        batch: &Batch<'_>,
        buffer: &mut [u8],
        copied: &mut Copied,
    ) -> Result<(), SnapshotError> {
        let Copier { from, to, .. } = self.copier;
        let to = to.join(batch.parent);
        let target = open_directory(&to).map_err(|error| SnapshotError::Target {
            path: to,
            source: error.into(),
        })?;
        let source = match open_directory(&from.join(batch.parent)) {
            Ok(source) => source,
            Err(Errno::NOENT | Errno::NOTDIR) => {
                copied
                    .missing
                    .extend(batch.names.iter().map(|(index, _)| index));
                return Ok(());
            }
            Err(error) => return Err(self.explain(batch.parent, error.into())),
        };
        for (index, name) in batch.names {
            if self.copier.cancellation.is_canceled() {
                return Err(SnapshotError::Stopped);
            }
            let done = fail_point!(
                "job_runner::copier::copy",
                self.copy_one(source.as_fd(), target.as_fd(), name, buffer)
                    .map_err(io::Error::from)
            );
            match done.map_err(|error| self.explain(&batch.parent.join(name), error))? {
                Some(bytes) => copied.bytes += bytes,
                None => copied.missing.push(*index),
            }
        }
        Ok(())
    }

    /// Copies one entry and returns its size; `None` when there is nothing to copy.
    fn copy_one(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &OsStr,
        buffer: &mut [u8],
    ) -> rustix::io::Result<Option<u64>> {
        let Some(status) = if_exists(statat(from, name, AtFlags::SYMLINK_NOFOLLOW))? else {
            return Ok(None);
        };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => {}
            FileType::Symlink => {
                let Some(leads_to) = if_exists(readlinkat(from, name, Vec::new()))? else {
                    return Ok(None);
                };
                symlinkat(&*leads_to, to, name)?;
                utimensat(to, name, &times(&status), AtFlags::SYMLINK_NOFOLLOW)?;
                return Ok(Some(0));
            }
            _ => return Ok(None),
        }
        // Without NONBLOCK, a pipe in the file's place would block until it has a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Some(source) = if_exists(openat(from, name, flags, Mode::empty()))? else {
            return Ok(None);
        };
        // Setuid and setgid are dropped: the copy belongs to the user of the runner.
        let mode = Mode::from_raw_mode(status.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let target = openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
        let size = u64::try_from(status.st_size).unwrap_or(0);
        let bytes = self.copy_content(&source, &target, size, buffer)?;
        fchmod(&target, mode)?;
        futimens(&target, &times(&status))?;
        Ok(Some(bytes))
    }

    fn copy_content(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
        size: u64,
        buffer: &mut [u8],
    ) -> rustix::io::Result<u64> {
        if size > 0 && self.sharing.load(Ordering::Relaxed) {
            match ioctl_ficlone(target, source) {
                Ok(()) => return Ok(size),
                Err(error) if self.copier.sharing == BlockSharing::Required => return Err(error),
                Err(_) => self.sharing.store(false, Ordering::Relaxed),
            }
        }
        let mut bytes = 0;
        if size > SMALL {
            let step = usize::try_from(size).unwrap_or(usize::MAX).min(1 << 30);
            // If the kernel cannot copy, or stops halfway, the loop below continues.
            while let Ok(count @ 1..) = copy_file_range(source, None, target, None, step) {
                bytes += count as u64;
            }
        }
        loop {
            let count = read(source, &mut *buffer)?;
            if count == 0 {
                return Ok(bytes);
            }
            let mut rest = &buffer[..count];
            while !rest.is_empty() {
                let written = write(target, rest)?;
                rest = &rest[written..];
            }
            bytes += count as u64;
            // A file that fits into the buffer needs no further read.
            if bytes >= size && count < buffer.len() {
                return Ok(bytes);
            }
        }
    }

    fn explain(&self, path: &Path, source: io::Error) -> SnapshotError {
        let path = path.to_owned();
        let cannot = matches!(
            Errno::from_io_error(&source),
            Some(Errno::OPNOTSUPP | Errno::XDEV | Errno::NOTTY | Errno::INVAL)
        );
        if cannot && self.copier.sharing == BlockSharing::Required {
            return SnapshotError::Reflink { path, source };
        }
        SnapshotError::File { path, source }
    }
}

/// Turns the error for an entry that vanished or changed its kind since the listing into `None`.
fn if_exists<T>(result: rustix::io::Result<T>) -> rustix::io::Result<Option<T>> {
    match result {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        result => result.map(Some),
    }
}

/// Returns the time of the last change, for a copy.
fn times(status: &Stat) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: status.st_mtime,
            tv_nsec: status.st_mtime_nsec.try_into().unwrap_or(0),
        },
    }
}

fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}
