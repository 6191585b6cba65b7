use super::error::SnapshotError;
use super::means::Clones;
use executor_core::Cancellation;
use fail_point::fail_point;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, copy_file_range, fchmod, ioctl_ficlone, openat,
    readlinkat, statat, symlinkat,
};
use rustix::io::{Errno, read, write};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// More threads than this only wait for the same disk.
const MOST_THREADS: usize = 8;
/// Fewer files than this are copied sooner than a thread starts.
const FILES_PER_THREAD: usize = 64;
/// Files of one directory that a thread takes at a time.
const BATCH: usize = 64;
/// Up to this size, reading and writing takes less time than asking the kernel to copy.
const SMALL: u64 = 128 * 1024;

/// Copies files from one tree to another.
#[derive(Debug)]
pub(crate) struct Copier<'c> {
    pub(crate) from: &'c Path,
    pub(crate) to: &'c Path,
    pub(crate) clones: Clones,
    pub(crate) cancellation: &'c Cancellation,
}

/// What was copied.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    pub(crate) bytes: u64,
    /// Which of the files were not there, by their place in the list.
    pub(crate) missing: Vec<usize>,
}

impl Copier<'_> {
    /// Copies the files, whose directories are there, on as many threads as help.
    ///
    /// Links are copied as links. What has no content, like a socket, counts as missing.
    ///
    /// # Cancellation
    ///
    /// Stops between two files with [`SnapshotError::Stopped`].
    pub(crate) fn copy(&self, files: &[impl AsRef<Path>]) -> Result<Copied, SnapshotError> {
        let mut by_parent: BTreeMap<&Path, Vec<(usize, &OsStr)>> = BTreeMap::new();
        for (place, file) in files.iter().enumerate() {
            let file = file.as_ref();
            if let (Some(parent), Some(name)) = (file.parent(), file.file_name()) {
                by_parent.entry(parent).or_default().push((place, name));
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
            clones: AtomicBool::new(self.clones != Clones::Refused),
        };
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = (files.len() / FILES_PER_THREAD).clamp(1, processors.min(MOST_THREADS));
        if threads == 1 {
            return run.work();
        }
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| run.work())).collect();
            let mut copied = Copied::default();
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

/// One copy under way.
struct Run<'r> {
    copier: &'r Copier<'r>,
    batches: &'r [Batch<'r>],
    next: AtomicUsize,
    /// False once the file system has said that it cannot share blocks.
    clones: AtomicBool,
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
                    .extend(batch.names.iter().map(|(place, _)| place));
                return Ok(());
            }
            Err(error) => return Err(self.explain(batch.parent, error.into())),
        };
        for (place, name) in batch.names {
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
                None => copied.missing.push(*place),
            }
        }
        Ok(())
    }

    /// Copies one entry and returns its size; `None` where there is nothing to copy.
    fn copy_one(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &OsStr,
        buffer: &mut [u8],
    ) -> rustix::io::Result<Option<u64>> {
        let Some(status) = there(statat(from, name, AtFlags::SYMLINK_NOFOLLOW))? else {
            return Ok(None);
        };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => {}
            FileType::Symlink => {
                let Some(leads_to) = there(readlinkat(from, name, Vec::new()))? else {
                    return Ok(None);
                };
                symlinkat(&*leads_to, to, name)?;
                return Ok(Some(0));
            }
            _ => return Ok(None),
        }
        // Should a pipe have taken the file's place meanwhile, nobody waits for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Some(source) = there(openat(from, name, flags, Mode::empty()))? else {
            return Ok(None);
        };
        // Not the bits that would lend out the rights of whoever runs this.
        let mode = Mode::from_raw_mode(status.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let target = openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
        let size = u64::try_from(status.st_size).unwrap_or(0);
        let bytes = self.copy_content(&source, &target, size, buffer)?;
        fchmod(&target, mode)?;
        Ok(Some(bytes))
    }

    fn copy_content(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
        size: u64,
        buffer: &mut [u8],
    ) -> rustix::io::Result<u64> {
        if size > 0 && self.clones.load(Ordering::Relaxed) {
            match ioctl_ficlone(target, source) {
                Ok(()) => return Ok(size),
                Err(error) if self.copier.clones == Clones::Demanded => return Err(error),
                Err(_) => self.clones.store(false, Ordering::Relaxed),
            }
        }
        let mut bytes = 0;
        if size > SMALL {
            let step = usize::try_from(size).unwrap_or(usize::MAX).min(1 << 30);
            // Where the kernel cannot, or says so only halfway, the loop below goes on.
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
            // A file that fitted into the buffer was read in one piece.
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
        if cannot && self.copier.clones == Clones::Demanded {
            return SnapshotError::Reflink { path, source };
        }
        SnapshotError::File { path, source }
    }
}

/// Makes nothing of what vanished, or became something else, since it was listed.
fn there<T>(result: rustix::io::Result<T>) -> rustix::io::Result<Option<T>> {
    match result {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        result => result.map(Some),
    }
}

fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}
