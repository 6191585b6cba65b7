//! Stores answers, for all projects of a user.
//!
//! ```text
//! answers-1/bodies/<SHA-256>      the bytes of an answer; never changed
//! answers-1/entries/<key>         a question, the digest of its body, when it was fetched
//! answers-1/temp/                 files being written, each locked by its writer
//! answers-1/growth                one byte per block written since the last removal
//! ```

mod directory;
mod entry;
mod error;
mod evict;
mod files;

pub use entry::StoredAnswer;
pub use error::StoreError;

use self::directory::{create, is_there};
use self::entry::{Entry, MAX_ENTRY, millis, time};
use crate::key::Key;
use crate::subject::Subject;
use crate::{Answer, Digest, Question};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Stored answers, for all projects of a user.
///
/// Many processes may use one store, and each may be killed at any time: no reader sees a part of a
/// file, and a damaged body is ignored. The directory is created with the first answer.
#[derive(Debug)]
pub struct Store {
    /// `None` stores nothing.
    location: Option<StoreLocation>,
    budget: u64,
}

/// The directory of a store.
#[derive(Debug)]
struct StoreLocation {
    directory: PathBuf,
    /// The part of the directory that belongs to the store.
    root: PathBuf,
    created: OnceLock<()>,
    /// Set once the directory was seen to exist and to belong to the user.
    seen: OnceLock<()>,
}

/// The size of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// The number of answers.
    pub answers: u64,
    /// The size of their files in bytes.
    pub bytes: u64,
}

/// The default limit in bytes.
const BUDGET: u64 = 256 << 20;

impl Store {
    /// Returns the store in a directory, the `cache` of the user's state. Nothing is read or created yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            location: Some(StoreLocation {
                root: directory.join("answers-1"),
                directory,
                created: OnceLock::new(),
                seen: OnceLock::new(),
            }),
            budget: BUDGET,
        }
    }

    /// Returns a store that stores nothing.
    pub fn none() -> Self {
        Self {
            location: None,
            budget: BUDGET,
        }
    }

    /// Sets the limit in bytes. The least recently used answers are removed.
    pub fn with_budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Returns the stored answer to a question, if its body is intact.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be read.
    pub fn get(&self, question: &Question) -> Result<Option<StoredAnswer>, StoreError> {
        let Some(location) = self.existing()? else {
            return Ok(None);
        };
        let key = Key::of(question).digest();
        let path = location.entry(key);
        let bytes = files::read(&path, MAX_ENTRY).map_err(StoreError::io("read", &path))?;
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let kept = match Entry::read(&bytes, key) {
            Some(entry) => location.stored(&entry)?,
            None => None,
        };
        if kept.is_none() {
            files::remove(&path);
        }
        Ok(kept)
    }

    /// Stores the answer to a question, and replaces the previous one.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be written; then nothing is stored.
    pub fn put(&self, question: &Question, kept: &StoredAnswer) -> Result<(), StoreError> {
        let subject = Subject::of(question);
        let key = Key::of_subject(&subject).digest();
        let (body, size) = match &kept.answer {
            Answer::Unchanged => return Ok(()),
            Answer::Absent => (None, 0),
            Answer::Body { bytes, .. } => (Some(bytes), bytes.len() as u64),
        };
        let Some(location) = &self.location else {
            return Ok(());
        };
        if size > self.budget / 2 {
            return Ok(());
        }
        location.create()?;
        let digest = body.map(|bytes| Digest::of(bytes));
        let entry = Entry {
            key,
            what: subject.to_string(),
            body: digest,
            size,
            etag: kept.etag().map(str::to_owned),
            fetched: millis(kept.fetched),
            checked: millis(kept.checked),
        };
        let mut written = 0;
        if let (Some(bytes), Some(digest)) = (body, digest) {
            let path = location.body(digest);
            // Most new answers have the body of another question or of the previous answer.
            let there = files::read(&path, size).map_err(StoreError::io("read", &path))?;
            if there.is_none_or(|there| there[..] != bytes[..]) {
                location.write(&path, bytes)?;
                written += size.max(1);
            }
        }
        let bytes = entry.write();
        let path = location.entry(key);
        let was_there = path.exists();
        location.write(&path, &bytes)?;
        if !was_there {
            written += evict::BLOCK;
        }
        if written == 0 {
            return Ok(());
        }
        evict::grow(&location.root, written, self.budget)
    }

    /// Removes the stored answer to a question.
    ///
    /// # Errors
    ///
    /// When the directory is refused.
    pub fn forget(&self, question: &Question) -> Result<(), StoreError> {
        if let Some(location) = self.existing()? {
            files::remove(&location.entry(Key::of(question).digest()));
        }
        Ok(())
    }

    /// Removes all answers, and returns their size.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be read.
    pub fn clean(&self) -> Result<StoreSize, StoreError> {
        let size = self.size()?;
        if let Some(location) = self.existing()? {
            // A body is never used without its entry, so entries are removed first.
            for folder in ["entries", "bodies"] {
                for (path, _) in location.list(folder)? {
                    files::remove(&path);
                }
            }
            files::remove(&location.root.join("growth"));
            files::sweep(&location.root.join("temp"));
        }
        Ok(size)
    }

    /// Returns the size of the store.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be read.
    pub fn size(&self) -> Result<StoreSize, StoreError> {
        let Some(location) = self.existing()? else {
            return Ok(StoreSize::default());
        };
        let (entries, bodies) = (location.list("entries")?, location.list("bodies")?);
        let bytes = entries.iter().chain(&bodies).map(|(_, it)| it.len()).sum();
        Ok(StoreSize {
            answers: entries.len() as u64,
            bytes,
        })
    }

    /// Returns the location, if its directory exists and may be used.
    fn existing(&self) -> Result<Option<&StoreLocation>, StoreError> {
        match &self.location {
            Some(location) if location.exists()? => Ok(Some(location)),
            _ => Ok(None),
        }
    }
}

impl StoreLocation {
    fn stored(&self, entry: &Entry) -> Result<Option<StoredAnswer>, StoreError> {
        let answer = match entry.body {
            None => Answer::Absent,
            Some(digest) => {
                let path = self.body(digest);
                let read = files::read(&path, entry.size);
                let bytes = read.map_err(StoreError::io("read", &path))?;
                let Some(bytes) = bytes.filter(|bytes| Digest::of(bytes) == digest) else {
                    files::remove(&path);
                    return Ok(None);
                };
                Answer::Body {
                    bytes: bytes.into(),
                    etag: entry.etag.clone(),
                }
            }
        };
        Ok(Some(StoredAnswer {
            answer,
            fetched: time(entry.fetched),
            checked: time(entry.checked),
        }))
    }

    fn list(&self, folder: &str) -> Result<Vec<(PathBuf, std::fs::Metadata)>, StoreError> {
        let folder = self.root.join(folder);
        files::list(&folder).map_err(StoreError::io("list", &folder))
    }

    fn exists(&self) -> Result<bool, StoreError> {
        if self.seen.get().is_some() {
            return Ok(true);
        }
        let exists = is_there(&self.directory)? && is_there(&self.root)?;
        if exists {
            let _ = self.seen.set(());
        }
        Ok(exists)
    }

    fn create(&self) -> Result<(), StoreError> {
        if self.created.get().is_none() {
            is_there(&self.directory)?;
            create(&self.root)?;
            // Checked again: another user may have created it meanwhile.
            is_there(&self.directory)?;
            is_there(&self.root)?;
            let _ = self.seen.set(());
            let _ = self.created.set(());
        }
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let written = files::write(&self.root.join("temp"), path, bytes);
        written.map_err(StoreError::io("write", path))
    }

    fn entry(&self, key: Digest) -> PathBuf {
        self.root.join("entries").join(key.to_string())
    }

    fn body(&self, digest: Digest) -> PathBuf {
        self.root.join("bodies").join(digest.to_string())
    }
}
