use super::Shelf;
use crate::error::Error;
use std::path::PathBuf;
use std::time::SystemTime;
use steps::LibraryError;

/// The cache of a [`StepLibrary`](crate::StepLibrary), to list and remove its entries without any server.
#[derive(Debug, Clone)]
pub struct FunctionCache {
    directory: PathBuf,
}

/// A repository, or the files of a commit or an image, in the cache.
#[derive(Debug, Clone)]
pub struct CachedFunctions {
    /// A name that begins with that of its project.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The time of last use.
    pub used: SystemTime,
    shelf: Shelf,
}

impl FunctionCache {
    /// Returns the cache in a directory, which may not exist.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Returns all entries, the least recently used first. Blocks.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read.
    pub fn entries(&self) -> Result<Vec<CachedFunctions>, LibraryError> {
        let mut found = Vec::new();
        for shelf in self.shelves() {
            let entries = shelf.entries();
            let entries = entries.map_err(Error::cache("read", &self.directory))?;
            found.extend(entries.into_iter().map(|entry| CachedFunctions {
                name: entry.name,
                bytes: entry.bytes,
                used: entry.used,
                shelf: shelf.clone(),
            }));
        }
        found.sort_by_key(|it| it.used);
        Ok(found)
    }

    /// Removes an entry unless a program uses it; returns whether it was removed. Blocks.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove(&self, functions: &CachedFunctions) -> Result<bool, LibraryError> {
        let removed = functions.shelf.remove(&functions.name);
        Ok(removed.map_err(Error::cache("clean", &self.directory))?)
    }

    /// Bare repositories, each with fetched commits of another one.
    pub(crate) fn repositories(&self) -> Shelf {
        Shelf::new(self.directory.join("git/repositories"))
    }

    /// The files of commits.
    pub(crate) fn commits(&self) -> Shelf {
        Shelf::new(self.directory.join("git/trees"))
    }

    /// The files of images.
    pub(crate) fn images(&self) -> Shelf {
        Shelf::new(self.directory.join("oci/trees"))
    }

    pub(crate) fn shelves(&self) -> [Shelf; 3] {
        [self.commits(), self.repositories(), self.images()]
    }
}
