use crate::digest::Digest;
use crate::directory::{open_below, open_root, times};
use crate::entry::{Entry, EntryKind, RIGHTS};
use crate::error::StoreError;
use crate::lock::lock;
use crate::restore::{Restoring, batches};
use crate::store::{ContentStore, LAYERS, OBJECTS, object_path};
use crate::tree::Tree;
use crate::workers;
use executor_core::Cancellation;
use fail_point::fail_point;
use parking_lot::Mutex;
use process::{FileLock, LockKind};
use rustix::fs::{AtFlags, Mode, Stat, chmodat, linkat, statat, utimensat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A tree as a directory whose files are objects of the store: never write to it.
///
/// Serves as the lower directory of an overlay. No sweep removes it until this is dropped.
#[derive(Debug)]
pub struct LowerLayer {
    path: PathBuf,
    _lock: FileLock,
}

impl LowerLayer {
    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Long enough to tell layers apart, short enough for several layers in the options of a mount.
const NAME_LENGTH: usize = 32;

impl ContentStore {
    /// Provides a tree as a directory of hard links to its objects, built once and shared by all callers.
    ///
    /// A content is copied if the tree has it twice, or if another layer shows it with other permissions or
    /// times. So every file looks as in the tree, and no two files of a layer share an inode.
    ///
    /// # Errors
    ///
    /// When something cannot be read or written.
    ///
    /// # Cancellation
    ///
    /// Stops between two files with [`StoreError::Stopped`].
    pub fn layer(
        &self,
        tree: &Tree,
        cancellation: &Cancellation,
    ) -> Result<LowerLayer, StoreError> {
        self.make()?;
        let _sweeps_not = self.share(cancellation)?;
        // One builder at a time: it changes permissions and times of objects that no layer links to yet.
        let _builder = lock(&self.directory(LAYERS), LockKind::Exclusive, cancellation)?;
        let path = self.layer_path(tree.digest());
        if !path.is_dir() {
            self.build(tree, &path, cancellation)?;
        }
        let lock = lock(&path, LockKind::Shared, cancellation)?;
        Ok(LowerLayer { path, _lock: lock })
    }

    fn build(
        &self,
        tree: &Tree,
        path: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), StoreError> {
        let partial = self.partial();
        let built = self.fill(tree, &partial, cancellation).and_then(|()| {
            let published =
                fail_point!("content_store::layer::publish", fs::rename(&partial, path));
            published.map_err(StoreError::store("publish", path))
        });
        if built.is_err() {
            // The first error is the one to return; a sweep removes any leftovers.
            let _ = crate::sweep::remove_all(&partial);
        }
        built
    }

    fn fill(
        &self,
        tree: &Tree,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), StoreError> {
        crate::store::make_dir(into)?;
        let objects = self.open(OBJECTS)?;
        let root =
            open_root(into).map_err(|error| StoreError::store("open", into)(error.into()))?;
        let restoring = Restoring {
            objects: objects.as_fd(),
            root: root.as_fd(),
            clones: AtomicBool::new(true),
            cancellation,
        };
        restoring.make_directories(tree)?;
        let is_content = |entry: &&Entry| !matches!(entry.kind, EntryKind::Directory { .. });
        let batches = batches(tree.entries().iter().filter(is_content));
        let linked = Mutex::new(HashSet::new());
        let buffer = || vec![0; 128 * 1024];
        workers::each(&batches, tree.entries().len(), buffer, |batch, buffer| {
            let (parent, entries) = batch;
            let directory = open_below(root.as_fd(), parent)?;
            for entry in entries {
                if cancellation.is_canceled() {
                    return Err(StoreError::Stopped);
                }
                if !link(objects.as_fd(), directory.as_fd(), entry, &linked)? {
                    restoring.one(directory.as_fd(), entry, buffer)?;
                }
            }
            Ok::<(), StoreError>(())
        })?;
        restoring.finish_directories(tree)
    }

    /// Returns the path of the layer of a tree.
    pub(crate) fn layer_path(&self, digest: Digest) -> PathBuf {
        let mut name = digest.to_string();
        name.truncate(NAME_LENGTH);
        self.directory(LAYERS).join(name)
    }
}

/// Links an object into a layer, or returns false if it must be copied instead.
fn link(
    objects: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    entry: &Entry,
    linked: &Mutex<HashSet<Digest>>,
) -> Result<bool, StoreError> {
    let EntryKind::File { mode, content, .. } = entry.kind else {
        return Ok(false);
    };
    let readable = mode & 0o400 != 0;
    let mut linked = linked.lock();
    let is_first = readable && linked.insert(content);
    drop(linked);
    if !is_first {
        return Ok(false);
    }
    let object = object_path(content);
    let work = || -> rustix::io::Result<bool> {
        let status = statat(objects, &object, AtFlags::SYMLINK_NOFOLLOW)?;
        if !looks_like(&status, mode, entry) {
            if status.st_nlink > 1 {
                return Ok(false);
            }
            chmodat(
                objects,
                &object,
                Mode::from_raw_mode(mode),
                AtFlags::empty(),
            )?;
            utimensat(
                objects,
                &object,
                &times(entry.modified),
                AtFlags::SYMLINK_NOFOLLOW,
            )?;
        }
        let name = entry.path.file_name().unwrap_or_default();
        match linkat(objects, &object, directory, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            // The file system may limit the number of links, or not support them.
            Err(Errno::MLINK | Errno::PERM | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    };
    let done = fail_point!(
        "content_store::layer::link",
        work().map_err(std::io::Error::from)
    );
    done.map_err(StoreError::file("link", &entry.path))
}

fn looks_like(status: &Stat, mode: u32, entry: &Entry) -> bool {
    status.st_mode & RIGHTS == mode
        && status.st_mtime == entry.modified.seconds
        && u32::try_from(status.st_mtime_nsec) == Ok(entry.modified.nanoseconds)
}
