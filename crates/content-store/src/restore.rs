use crate::directory::{make, open_below, open_root, set_mode, set_modified, times};
use crate::entry::{Entry, EntryKind};
use crate::error::StoreError;
use crate::store::{ContentStore, OBJECTS, object_path};
use crate::tree::Tree;
use crate::workers;
use executor_core::Cancellation;
use fail_point::fail_point;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, SeekFrom, copy_file_range, fchmod, fstat, ftruncate, futimens,
    ioctl_ficlone, openat, seek, statat, symlinkat, unlinkat,
};
use rustix::io::{Errno, read, write};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files of one directory that a thread takes at a time.
const BATCH: usize = 64;
/// Up to this size, reading and writing is faster than letting the kernel copy.
const SMALL: u64 = 128 * 1024;

impl ContentStore {
    /// Writes a tree into the existing directory `into`.
    ///
    /// Files share their blocks with the store if the file system supports that, and are copied otherwise.
    /// Existing files and links are replaced. Nothing is written outside `into`, whatever links it contains.
    ///
    /// # Errors
    ///
    /// [`StoreError::ThroughLink`] and [`StoreError::InTheWay`] when an existing entry blocks the tree, others
    /// when something cannot be read or written. A part of the tree may be written then.
    ///
    /// # Cancellation
    ///
    /// Stops between two files with [`StoreError::Stopped`].
    pub fn restore(
        &self,
        tree: &Tree,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), StoreError> {
        self.make()?;
        let _lock = self.share(cancellation)?;
        let objects = self.open(OBJECTS)?;
        let root = open_root(into).map_err(|error| StoreError::file("open", into)(error.into()))?;
        let restoring = Restoring {
            objects: objects.as_fd(),
            root: root.as_fd(),
            clones: AtomicBool::new(true),
            cancellation,
        };
        restoring.run(tree)
    }
}

/// The state of writing one tree to a directory, shared by its threads.
pub(crate) struct Restoring<'r> {
    pub(crate) objects: BorrowedFd<'r>,
    pub(crate) root: BorrowedFd<'r>,
    /// False after sharing blocks has failed once, so that it is not tried for every file.
    pub(crate) clones: AtomicBool,
    pub(crate) cancellation: &'r Cancellation,
}

impl Restoring<'_> {
    fn run(&self, tree: &Tree) -> Result<(), StoreError> {
        self.make_directories(tree)?;
        let is_content = |entry: &&Entry| !matches!(entry.kind, EntryKind::Directory { .. });
        let batches = batches(tree.entries().iter().filter(is_content));
        let things = tree.entries().len();
        let buffer = || vec![0; usize::try_from(SMALL).unwrap_or(0)];
        workers::each(&batches, things, buffer, |(parent, entries), buffer| {
            let directory = open_below(self.root, parent)?;
            entries
                .iter()
                .try_for_each(|entry| self.one(directory.as_fd(), entry, buffer))
        })?;
        self.finish_directories(tree)
    }

    /// Creates the directories, accessible to their owner until all files are written.
    pub(crate) fn make_directories(&self, tree: &Tree) -> Result<(), StoreError> {
        for (path, _, _) in directories(tree) {
            let (above, name) = split(path);
            let parent = open_below(self.root, above)?;
            let made = fail_point!(
                "content_store::restore::make_dir",
                make(parent.as_fd(), name).map_err(io::Error::from)
            );
            made.map_err(StoreError::file("make", path))?;
            // An existing entry must be a directory; a link to one is refused.
            open_below(self.root, path)?;
        }
        Ok(())
    }

    /// Sets permissions and times of the directories, after all files are written.
    pub(crate) fn finish_directories(&self, tree: &Tree) -> Result<(), StoreError> {
        let all: Vec<_> = directories(tree).collect();
        for (path, mode, entry) in all.into_iter().rev() {
            let (above, name) = split(path);
            let parent = open_below(self.root, above)?;
            let finished = set_mode(parent.as_fd(), name, Mode::from_raw_mode(mode))
                .and_then(|()| set_modified(parent.as_fd(), name, entry.modified));
            finished.map_err(|error| StoreError::file("change", path)(error.into()))?;
        }
        Ok(())
    }

    /// Writes one file or link into its directory.
    pub(crate) fn one(
        &self,
        directory: BorrowedFd<'_>,
        entry: &Entry,
        buffer: &mut [u8],
    ) -> Result<(), StoreError> {
        if self.cancellation.is_canceled() {
            return Err(StoreError::Stopped);
        }
        let (_, name) = split(&entry.path);
        let mut put = || -> io::Result<()> {
            match &entry.kind {
                EntryKind::Directory { .. } => Ok(()),
                EntryKind::Link { target } => {
                    in_place_of(directory, name, || symlinkat(target, directory, name))?;
                    Ok(set_modified(directory, name, entry.modified)?)
                }
                EntryKind::File { .. } => self.file(directory, name, entry, buffer),
            }
        };
        let put = fail_point!("content_store::restore::put", put());
        put.map_err(|source| match Errno::from_io_error(&source) {
            Some(Errno::ISDIR) => StoreError::InTheWay {
                path: entry.path.clone(),
            },
            Some(Errno::CANCELED) => StoreError::Stopped,
            _ => StoreError::file("restore", &entry.path)(source),
        })
    }

    fn file(
        &self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        entry: &Entry,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        let EntryKind::File {
            mode,
            size,
            content,
        } = entry.kind
        else {
            return Ok(());
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let source =
            openat(self.objects, object_path(content), flags, Mode::empty()).map_err(|error| {
                match error {
                    Errno::NOENT => io::Error::other("its content is not in the store"),
                    error => error.into(),
                }
            })?;
        if u64::try_from(fstat(&source)?.st_size) != Ok(size) {
            return Err(io::Error::other("its content in the store is damaged"));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let private = Mode::RUSR | Mode::WUSR;
        let target = in_place_of(directory, name, || openat(directory, name, flags, private))?;
        self.copy(&source, &target, size, buffer)?;
        fchmod(&target, Mode::from_raw_mode(mode))?;
        Ok(futimens(&target, &times(entry.modified))?)
    }

    fn copy(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
        size: u64,
        buffer: &mut [u8],
    ) -> rustix::io::Result<()> {
        if size > 0 && self.clones.load(Ordering::Relaxed) {
            match ioctl_ficlone(target, source) {
                Ok(()) => return Ok(()),
                Err(_) => self.clones.store(false, Ordering::Relaxed),
            }
        }
        if size > SMALL {
            let room = u64::try_from(fstat(source)?.st_blocks).unwrap_or(u64::MAX);
            if room.saturating_mul(512) < size {
                return self.copy_around_holes(source, target, size, buffer);
            }
            let step = usize::try_from(size).unwrap_or(usize::MAX).min(1 << 26);
            // If the kernel cannot copy, or fails halfway, the loop below copies the rest.
            while let Ok(1..) = copy_file_range(source, None, target, None, step) {
                self.go_on()?;
            }
        }
        loop {
            let count = read(source, &mut *buffer)?;
            if count == 0 {
                return Ok(());
            }
            write_all(target, &buffer[..count])?;
            // A file that fits into the buffer is read by one call.
            if size <= SMALL && count as u64 == size {
                return Ok(());
            }
            self.go_on()?;
        }
    }

    /// Copies the data of a sparse file, and leaves its holes as holes.
    fn copy_around_holes(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
        size: u64,
        buffer: &mut [u8],
    ) -> rustix::io::Result<()> {
        ftruncate(target, size)?;
        let mut end = 0;
        while end < size {
            let start = match seek(source, SeekFrom::Data(end)) {
                // The rest is a hole.
                Err(Errno::NXIO) => break,
                start => start?,
            };
            end = seek(source, SeekFrom::Hole(start))?.min(size);
            seek(source, SeekFrom::Start(start))?;
            seek(target, SeekFrom::Start(start))?;
            let mut rest = end.saturating_sub(start);
            while rest > 0 {
                self.go_on()?;
                let most = usize::try_from(rest).unwrap_or(usize::MAX);
                let most = most.min(buffer.len());
                let count = read(source, &mut buffer[..most])?;
                if count == 0 {
                    return Err(Errno::IO);
                }
                write_all(target, &buffer[..count])?;
                rest -= count as u64;
            }
        }
        Ok(())
    }

    fn go_on(&self) -> rustix::io::Result<()> {
        if self.cancellation.is_canceled() {
            return Err(Errno::CANCELED);
        }
        Ok(())
    }
}

fn write_all(target: &OwnedFd, content: &[u8]) -> rustix::io::Result<()> {
    let mut rest = content;
    while !rest.is_empty() {
        let written = write(target, rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

/// Creates an entry, replacing an existing one unless that is a directory.
fn in_place_of<T>(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    attempt: impl Fn() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    match attempt() {
        Err(Errno::EXIST) => {
            let status = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
                return Err(Errno::ISDIR);
            }
            unlinkat(directory, name, AtFlags::empty())?;
            attempt()
        }
        made => made,
    }
}

/// Groups entries by directory, and splits the groups into batches for the threads.
pub(crate) fn batches<'t>(
    entries: impl Iterator<Item = &'t Entry>,
) -> Vec<(&'t Path, Vec<&'t Entry>)> {
    let mut by_parent: BTreeMap<&Path, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_parent
            .entry(split(&entry.path).0)
            .or_default()
            .push(entry);
    }
    let portions = by_parent.into_iter().flat_map(|(parent, entries)| {
        let portions: Vec<_> = entries
            .chunks(BATCH)
            .map(|it| (parent, it.to_vec()))
            .collect();
        portions
    });
    portions.collect()
}

fn directories(tree: &Tree) -> impl Iterator<Item = (&Path, u32, &Entry)> {
    tree.entries().iter().filter_map(|entry| match entry.kind {
        EntryKind::Directory { mode } => Some((entry.path.as_path(), mode, entry)),
        _ => None,
    })
}

/// Splits a path into parent and name; every path of a tree has both.
fn split(path: &Path) -> (&Path, &OsStr) {
    let parent = path.parent().unwrap_or(Path::new(""));
    (parent, path.file_name().unwrap_or_default())
}
