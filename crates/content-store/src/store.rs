use crate::digest::Digest;
use crate::entry::EntryKind;
use crate::error::StoreError;
use crate::lock::lock;
use crate::manifest;
use crate::tree::Tree;
use executor_core::Cancellation;
use fail_point::fail_point;
use process::{FileLock, LockKind, NewFile, make_private_dir_all};
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory of this host that stores trees of files by content.
///
/// All methods block. Clones and other processes may use the same directory at once.
#[derive(Debug, Clone)]
pub struct ContentStore {
    root: PathBuf,
}

/// Blocks all sweeps until it is dropped.
#[derive(Debug)]
pub struct Held {
    _lock: FileLock,
}

/// Makes temporary names unique within a process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Makes temporary names unique across processes.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());

impl ContentStore {
    /// Returns the store in this directory, which is created on first use.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the root directory.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Reads a tree.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoTree`] when the store has no such tree, [`StoreError::Damaged`] when its file was
    /// altered.
    pub fn tree(&self, digest: Digest) -> Result<Tree, StoreError> {
        let path = self.tree_path(digest);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NoTree(digest));
            }
            read => read.map_err(StoreError::store("read", &path))?,
        };
        let damaged = |reason: &str| StoreError::Damaged {
            path: path.clone(),
            reason: reason.to_owned(),
        };
        if Digest::of(&bytes) != digest {
            return Err(damaged("it has another digest than its name"));
        }
        let text = String::from_utf8(bytes).map_err(|_| damaged("it is no text"))?;
        let entries = manifest::read(&text)
            .map_err(|line| damaged(&format!("line {line} is no entry of a tree")))?;
        Tree::named(digest, entries).map_err(|error| damaged(&error.to_string()))
    }

    /// Opens a content for reading.
    ///
    /// # Errors
    ///
    /// When the content is missing or cannot be read.
    pub fn open_content(&self, content: Digest) -> Result<File, StoreError> {
        let path = self.directory(OBJECTS).join(object_path(content));
        File::open(&path).map_err(StoreError::store("open", &path))
    }

    /// Checks that each content of a tree matches its digest.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] for the first content that does not match.
    pub fn verify(&self, tree: &Tree) -> Result<(), StoreError> {
        for entry in tree.entries() {
            let EntryKind::File { content, .. } = entry.kind else {
                continue;
            };
            let path = self.directory(OBJECTS).join(object_path(content));
            let mut hasher = blake3::Hasher::new();
            let read = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hasher));
            read.map_err(StoreError::store("read", &path))?;
            if Digest::of_hasher(&hasher) != content {
                return Err(StoreError::Damaged {
                    path,
                    reason: "it has another digest than its name".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Atomically creates or replaces a file outside the store, on the same file system. Callers use it to
    /// record the trees that they need.
    ///
    /// # Errors
    ///
    /// When the file cannot be written; an old one is unchanged then.
    pub fn write_note(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        make_dir(&self.root.join(TMP))?;
        let partial = self.partial();
        let written = write_private(partial, content)
            .and_then(|new| fail_point!("content_store::note::publish", new.replace(path)));
        written.map_err(|source| StoreError::File {
            action: "write",
            path: path.to_owned(),
            source,
        })
    }

    /// Creates the missing directories.
    pub(crate) fn make(&self) -> Result<(), StoreError> {
        for name in [OBJECTS, TREES, LAYERS, TMP] {
            make_dir(&self.root.join(name))?;
        }
        Ok(())
    }

    /// Blocks all sweeps until the returned guard is dropped, so that the caller can record another reference
    /// to a stored tree.
    ///
    /// # Errors
    ///
    /// When the store cannot be locked.
    ///
    /// # Cancellation
    ///
    /// Returns [`StoreError::Stopped`] soon after.
    pub fn hold(&self, cancellation: &Cancellation) -> Result<Held, StoreError> {
        self.make()?;
        let lock = self.share(cancellation)?;
        Ok(Held { _lock: lock })
    }

    /// Takes the shared lock, which blocks all sweeps.
    pub(crate) fn share(&self, cancellation: &Cancellation) -> Result<FileLock, StoreError> {
        lock(&self.root.join(LOCK), LockKind::Shared, cancellation)
    }

    /// Publishes a tree whose objects are all stored.
    pub(crate) fn publish(&self, tree: &Tree, text: &str) -> Result<(), StoreError> {
        let path = self.tree_path(tree.digest());
        let complete = fs::metadata(&path).is_ok_and(|it| it.len() == text.len() as u64);
        if complete {
            return Ok(());
        }
        let partial = self.partial();
        let written = write_private(partial, text.as_bytes())
            .and_then(|new| fail_point!("content_store::tree::publish", new.replace(&path)));
        written.map_err(StoreError::store("write", &path))
    }

    /// Returns a unique path for an unfinished file or directory.
    pub(crate) fn partial(&self) -> PathBuf {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Processes in two containers may have the same id.
        let name = format!("{}-{:x}-{number}", std::process::id(), *PROCESS);
        self.root.join(TMP).join(name)
    }

    pub(crate) fn tree_path(&self, digest: Digest) -> PathBuf {
        self.root.join(TREES).join(digest.to_string())
    }

    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

pub(crate) const OBJECTS: &str = "objects";
pub(crate) const TREES: &str = "trees";
pub(crate) const LAYERS: &str = "layers";
pub(crate) const TMP: &str = "tmp";
pub(crate) const LOCK: &str = "lock";

/// Returns the path of an object below the directory of objects.
pub(crate) fn object_path(digest: Digest) -> String {
    let mut path = digest.to_string();
    path.insert(2, '/');
    path
}

pub(crate) fn make_dir(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    let made = fail_point!("content_store::store::make_dir", make_private_dir_all(path));
    made.map_err(StoreError::store("make", path))
}

fn write_private(path: PathBuf, bytes: &[u8]) -> io::Result<NewFile> {
    fail_point!(
        "content_store::tree::write",
        NewFile::write(path, bytes, 0o600)
    )
}
