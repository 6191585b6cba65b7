//! A store for the tests, with directories to store from and to restore to.

use content_store::{ContentStore, Digest, Kept, StoreError, Swept, Tree};
use executor_core::Cancellation;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) struct Bench {
    pub(crate) root: TempDir,
    pub(crate) store: ContentStore,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["from", "into"] {
            fs::create_dir(root.path().join(name)).expect("made");
        }
        let store = ContentStore::at(root.path().join("store"));
        Self { root, store }
    }

    pub(crate) fn source(&self) -> PathBuf {
        self.root.path().join("from")
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.root.path().join("into")
    }

    /// Writes a file to store, and creates its parent directories.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.source().join(path), content)
    }

    pub(crate) fn keep(&self, paths: &[&str]) -> Kept {
        self.try_keep(paths).expect("kept")
    }

    pub(crate) fn try_keep(&self, paths: &[&str]) -> Result<Kept, StoreError> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        self.store
            .keep(&self.source(), &paths, &Cancellation::new())
    }

    pub(crate) fn restore(&self, tree: &Tree) -> Result<(), StoreError> {
        self.store
            .restore(tree, &self.target(), &Cancellation::new())
    }

    pub(crate) fn sweep(&self, live: &[Digest]) -> Option<Swept> {
        let live: HashSet<Digest> = live.iter().copied().collect();
        self.store.sweep(|| Ok(live)).expect("swept")
    }

    /// Returns the paths of all files in the store except its lock.
    pub(crate) fn stored(&self) -> Vec<PathBuf> {
        let mut files = files_below(self.store.path());
        files.retain(|path| path != Path::new("lock"));
        files
    }

    pub(crate) fn stored_below(&self, name: &str) -> usize {
        self.stored()
            .iter()
            .filter(|it| it.starts_with(name))
            .count()
    }
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> PathBuf {
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, content).expect("written");
    path.to_owned()
}

pub(crate) fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(root.join(&directory)).expect("listed") {
            let entry = entry.expect("an entry");
            let path = directory.join(entry.file_name());
            if entry.file_type().expect("a type").is_dir() {
                pending.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
