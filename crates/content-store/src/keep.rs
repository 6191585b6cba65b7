use crate::digest::Digest;
use crate::directory::{open_below, open_root};
use crate::entry::{Entry, EntryKind, ModifiedAt, RIGHTS};
use crate::error::StoreError;
use crate::store::{ContentStore, OBJECTS, TMP, object_path};
use crate::tree::{Tree, check_path};
use crate::workers;
use executor_core::Cancellation;
use fail_point::fail_point;
use process::FileLock;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, SeekFrom, Stat, fstat, ftruncate, mkdirat, openat, readlinkat,
    renameat, seek, statat, unlinkat,
};
use rustix::io::{Errno, read, write};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Files of one directory that a thread takes at a time.
const BATCH: usize = 64;
/// A smaller file is hashed before it is written, so that known content is not written again.
const AT_ONCE: usize = 256 * 1024;

/// A tree that was stored. No sweep removes it until this is dropped: record its digest before that.
#[derive(Debug)]
pub struct Kept {
    tree: Tree,
    vanished: Vec<PathBuf>,
    _lock: FileLock,
}

impl Kept {
    /// Returns the tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the paths that were missing, sorted. They are not in the tree.
    pub fn vanished(&self) -> &[PathBuf] {
        &self.vanished
    }
}

impl ContentStore {
    /// Stores files, links and directories below `from`, given by their paths relative to it.
    ///
    /// Their parent directories become part of the tree, with permissions and times. The members of a
    /// directory are stored only if they are listed too. No link is followed, not even one created meanwhile.
    ///
    /// # Errors
    ///
    /// When something cannot be read or written, or is not a file, link or directory. No tree is published
    /// then; the next sweep removes objects that were written already, unless another tree refers to them.
    ///
    /// # Cancellation
    ///
    /// Stops between two files with [`StoreError::Stopped`].
    pub fn keep(
        &self,
        from: &Path,
        paths: &[PathBuf],
        cancellation: &Cancellation,
    ) -> Result<Kept, StoreError> {
        self.keep_of(from, paths, Missing::IsAnError, cancellation)
    }

    /// Like [`keep`](Self::keep), but leaves out paths that no longer exist: a process may still be working
    /// in the directory.
    ///
    /// # Errors
    ///
    /// As for `keep`.
    ///
    /// # Cancellation
    ///
    /// As for `keep`.
    pub fn keep_what_is_there(
        &self,
        from: &Path,
        paths: &[PathBuf],
        cancellation: &Cancellation,
    ) -> Result<Kept, StoreError> {
        self.keep_of(from, paths, Missing::IsLeftOut, cancellation)
    }

    fn keep_of(
        &self,
        from: &Path,
        paths: &[PathBuf],
        missing: Missing,
        cancellation: &Cancellation,
    ) -> Result<Kept, StoreError> {
        self.make()?;
        let lock = self.share(cancellation)?;
        let root = open_root(from).map_err(|error| StoreError::file("open", from)(error.into()))?;
        let objects = self.open(OBJECTS)?;
        let tmp = self.open(TMP)?;
        let keeping = Keeping {
            store: self,
            root: root.as_fd(),
            objects: objects.as_fd(),
            tmp: tmp.as_fd(),
            missing,
            cancellation,
        };
        let (entries, vanished) = keeping.entries(paths)?;
        let (tree, text) = Tree::new(entries)?;
        self.publish(&tree, &text)?;
        Ok(Kept {
            tree,
            vanished,
            _lock: lock,
        })
    }

    pub(crate) fn open(&self, name: &str) -> Result<OwnedFd, StoreError> {
        let path = self.directory(name);
        open_root(&path).map_err(|error| StoreError::store("open", &path)(error.into()))
    }
}

/// How a missing path is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    IsAnError,
    IsLeftOut,
}

/// The state of one `keep` call, shared by its threads.
struct Keeping<'k> {
    store: &'k ContentStore,
    root: BorrowedFd<'k>,
    objects: BorrowedFd<'k>,
    tmp: BorrowedFd<'k>,
    missing: Missing,
    cancellation: &'k Cancellation,
}

/// Some names in one directory, processed together.
struct Batch<'b> {
    parent: &'b Path,
    names: Vec<&'b OsStr>,
}

/// The result for one path.
enum Found {
    Entry(Entry),
    Nothing(PathBuf),
}

impl Keeping<'_> {
    /// Returns the entries of the tree, and the paths that were missing.
    fn entries(&self, paths: &[PathBuf]) -> Result<(Vec<Entry>, Vec<PathBuf>), StoreError> {
        let mut wanted: BTreeSet<&Path> = BTreeSet::new();
        for path in paths {
            check_path(path)?;
            let ways = path.ancestors();
            ways.take_while(|it| !it.as_os_str().is_empty() && wanted.insert(it))
                .for_each(drop);
        }
        let mut by_parent: BTreeMap<&Path, Vec<&OsStr>> = BTreeMap::new();
        for path in &wanted {
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                by_parent.entry(parent).or_default().push(name);
            }
        }
        let batches = by_parent.iter().flat_map(|(parent, names)| {
            names.chunks(BATCH).map(|names| Batch {
                parent,
                names: names.to_vec(),
            })
        });
        let batches: Vec<Batch<'_>> = batches.collect();
        let buffer = || vec![0; AT_ONCE];
        let kept = workers::each(&batches, wanted.len(), buffer, |batch, buffer| {
            self.batch(batch, buffer)
        })?;
        let mut entries = Vec::with_capacity(wanted.len());
        let mut vanished = BTreeSet::new();
        for found in kept.into_iter().flatten() {
            match found {
                Found::Entry(entry) => entries.push(entry),
                Found::Nothing(path) => drop(vanished.insert(path)),
            }
        }
        if !vanished.is_empty() {
            // A directory may vanish after its members were read.
            entries.retain(|entry| {
                let is_left = !entry.path.ancestors().any(|it| vanished.contains(it));
                if !is_left {
                    vanished.insert(entry.path.clone());
                }
                is_left
            });
        }
        Ok((entries, vanished.into_iter().collect()))
    }

    fn batch(&self, batch: &Batch<'_>, buffer: &mut [u8]) -> Result<Vec<Found>, StoreError> {
        let parent = match open_below(self.root, batch.parent) {
            Err(error) if self.leaves_out(&error) => {
                let paths = batch.names.iter().map(|name| batch.parent.join(name));
                return Ok(paths.map(Found::Nothing).collect());
            }
            opened => opened?,
        };
        let mut entries = Vec::with_capacity(batch.names.len());
        for name in &batch.names {
            if self.cancellation.is_canceled() {
                return Err(StoreError::Stopped);
            }
            let path = batch.parent.join(name);
            entries.push(match self.one(parent.as_fd(), name, &path, buffer) {
                Ok((kind, modified)) => Found::Entry(Entry {
                    path,
                    kind,
                    modified,
                }),
                Err(error) if self.leaves_out(&error) => Found::Nothing(path),
                Err(error) => return Err(error),
            });
        }
        Ok(entries)
    }

    /// Returns whether the error is about a path that may be missing.
    fn leaves_out(&self, error: &StoreError) -> bool {
        let StoreError::File { source, .. } = error else {
            return false;
        };
        self.missing == Missing::IsLeftOut && source.kind() == io::ErrorKind::NotFound
    }

    fn one(
        &self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        buffer: &mut [u8],
    ) -> Result<(EntryKind, ModifiedAt), StoreError> {
        let cannot = |error: Errno| StoreError::file("read", path)(error.into());
        let mut status = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(cannot)?;
        let kind = match FileType::from_raw_mode(status.st_mode) {
            FileType::Directory => EntryKind::Directory {
                mode: status.st_mode & RIGHTS,
            },
            FileType::Symlink => {
                let target = readlinkat(parent, name, Vec::new()).map_err(cannot)?;
                EntryKind::Link {
                    target: OsString::from_vec(target.into_bytes()).into(),
                }
            }
            FileType::RegularFile => {
                // A pipe may have replaced the file meanwhile; opening it must not wait for a writer.
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file = openat(parent, name, flags, Mode::empty()).map_err(cannot)?;
                status = fstat(&file).map_err(cannot)?;
                if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
                    return Err(no_file(path));
                }
                let (content, size) = self.content(&file, path, buffer)?;
                EntryKind::File {
                    mode: status.st_mode & RIGHTS,
                    size,
                    content,
                }
            }
            _ => return Err(no_file(path)),
        };
        Ok((kind, modified_at(&status)))
    }

    /// Stores the content of a file, and returns its digest and size.
    fn content(
        &self,
        file: &OwnedFd,
        path: &Path,
        buffer: &mut [u8],
    ) -> Result<(Digest, u64), StoreError> {
        let cannot = |error: Errno| StoreError::file("read", path)(error.into());
        let mut filled = 0;
        while filled < buffer.len() {
            match read(file, &mut buffer[filled..]).map_err(cannot)? {
                0 => {
                    let content = &buffer[..filled];
                    let digest = Digest::of(content);
                    let size = content.len() as u64;
                    if !self.is_kept(digest, size) {
                        let partial = Partial::new(self)?;
                        partial.write(content)?;
                        partial.publish(digest)?;
                    }
                    return Ok((digest, size));
                }
                count => filled += count,
            }
        }
        // Too large for the buffer, so the digest is known only after writing.
        let partial = Partial::new(self)?;
        let mut hasher = blake3::Hasher::new();
        let mut size = 0;
        while filled > 0 {
            if self.cancellation.is_canceled() {
                return Err(StoreError::Stopped);
            }
            let content = &buffer[..filled];
            hasher.update(content);
            if content.iter().all(|it| *it == 0) {
                partial.skip(content.len())?;
            } else {
                partial.write(content)?;
            }
            size += content.len() as u64;
            filled = read(file, &mut *buffer).map_err(cannot)?;
        }
        partial.end_at(size)?;
        let digest = Digest::of_hasher(&hasher);
        if !self.is_kept(digest, size) {
            partial.publish(digest)?;
        }
        Ok((digest, size))
    }

    /// Returns whether the store has this content. The size tells it from an object torn by a power failure.
    fn is_kept(&self, digest: Digest, size: u64) -> bool {
        let found = statat(self.objects, object_path(digest), AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|it| u64::try_from(it.st_size) == Ok(size))
    }
}

/// An object that is still being written. Dropping it unpublished removes its file.
struct Partial<'p> {
    keeping: &'p Keeping<'p>,
    path: PathBuf,
    file: OwnedFd,
    is_published: std::cell::Cell<bool>,
}

impl<'p> Partial<'p> {
    fn new(keeping: &'p Keeping<'p>) -> Result<Self, StoreError> {
        let path = keeping.store.partial();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = fail_point!(
            "content_store::object::create",
            openat(keeping.tmp, name_of(&path), flags, Mode::RUSR | Mode::WUSR)
                .map_err(io::Error::from)
        );
        let file = made.map_err(StoreError::store("make", &path))?;
        Ok(Self {
            keeping,
            path,
            file,
            is_published: false.into(),
        })
    }

    fn write(&self, content: &[u8]) -> Result<(), StoreError> {
        let mut rest = content;
        while !rest.is_empty() {
            let written = fail_point!(
                "content_store::object::write",
                write(&self.file, rest).map_err(io::Error::from)
            );
            let written = written.map_err(StoreError::store("write", &self.path))?;
            rest = &rest[written..];
        }
        Ok(())
    }

    /// Leaves a hole for zeros: a sparse disk image can be larger than the disk.
    fn skip(&self, count: usize) -> Result<(), StoreError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let skipped = seek(&self.file, SeekFrom::Current(count));
        skipped
            .map(drop)
            .map_err(|error| StoreError::store("write", &self.path)(error.into()))
    }

    /// Sets the size of the file, which may end with a hole.
    fn end_at(&self, size: u64) -> Result<(), StoreError> {
        ftruncate(&self.file, size)
            .map_err(|error| StoreError::store("write", &self.path)(error.into()))
    }

    fn publish(&self, digest: Digest) -> Result<(), StoreError> {
        let Keeping { objects, tmp, .. } = self.keeping;
        let target = object_path(digest);
        let rename = || {
            fail_point!(
                "content_store::object::publish",
                renameat(tmp, name_of(&self.path), objects, &target).map_err(io::Error::from)
            )
        };
        let published = match rename() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match mkdirat(objects, &target[..2], Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => rename(),
                    Err(error) => Err(error.into()),
                }
            }
            published => published,
        };
        published.map_err(StoreError::store("publish", &self.path))?;
        self.is_published.set(true);
        Ok(())
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        if !self.is_published.get() {
            // If this fails, the next sweep removes the file.
            let _ = unlinkat(self.keeping.tmp, name_of(&self.path), AtFlags::empty());
        }
    }
}

fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

fn no_file(path: &Path) -> StoreError {
    let what = io::Error::new(
        io::ErrorKind::InvalidInput,
        "is neither a file nor a directory nor a link",
    );
    StoreError::file("read", path)(what)
}

fn modified_at(status: &Stat) -> ModifiedAt {
    ModifiedAt {
        seconds: status.st_mtime,
        nanoseconds: u32::try_from(status.st_mtime_nsec).unwrap_or(0),
    }
}
