use super::directory;
use super::entry::{Entry, MAX_ENTRY, millis, time};
use super::{Kept, StoreError, evict, files};
use crate::key::Key;
use crate::subject::Subject;
use crate::{Answer, Digest, Question};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Answers that are kept for all projects of a user.
///
/// Many processes may use one at once, and any of them may be killed: nobody sees a part of a file,
/// and a body that is not what it was is taken for none. The directory is made when the first answer
/// is kept.
#[derive(Debug)]
pub struct Store {
    /// Nothing is kept without one.
    place: Option<Place>,
    budget: u64,
}

/// Where answers are kept.
#[derive(Debug)]
struct Place {
    directory: PathBuf,
    /// What is in it of the store's.
    root: PathBuf,
    made: OnceLock<()>,
    /// Whether it was seen to be there, and to be ours.
    seen: OnceLock<()>,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// How many answers.
    pub answers: u64,
    /// How many bytes their files have.
    pub bytes: u64,
}

/// What is kept at most, in bytes, unless said otherwise.
const BUDGET: u64 = 256 << 20;

impl Store {
    /// Returns the store in a directory, `cache` in that of the user's state. Nothing is read or made yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            place: Some(Place {
                root: directory.join("answers-1"),
                directory,
                made: OnceLock::new(),
                seen: OnceLock::new(),
            }),
            budget: BUDGET,
        }
    }

    /// Returns a store that keeps nothing.
    pub fn none() -> Self {
        Self {
            place: None,
            budget: BUDGET,
        }
    }

    /// Keeps at most so many bytes; what was not used for longest goes.
    pub fn with_budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Returns what is kept of the answer to a question, if its body is still what it was.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be read.
    pub fn get(&self, question: &Question) -> Result<Option<Kept>, StoreError> {
        let Some(place) = self.there()? else {
            return Ok(None);
        };
        let key = Key::of(question).digest();
        let path = place.entry(key);
        let bytes = files::read(&path, MAX_ENTRY).map_err(StoreError::io("read", &path))?;
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let kept = match Entry::read(&bytes, key) {
            Some(entry) => place.kept(&entry)?,
            None => None,
        };
        if kept.is_none() {
            files::remove(&path);
        }
        Ok(kept)
    }

    /// Keeps the answer to a question, instead of what was kept before.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be written; then nothing is kept.
    pub fn put(&self, question: &Question, kept: &Kept) -> Result<(), StoreError> {
        let subject = Subject::of(question);
        let key = Key::of_subject(&subject).digest();
        let (body, size) = match &kept.answer {
            Answer::Unchanged => return Ok(()),
            Answer::Absent => (None, 0),
            Answer::Body { bytes, .. } => (Some(bytes), bytes.len() as u64),
        };
        let Some(place) = &self.place else {
            return Ok(());
        };
        if size > self.budget / 2 {
            return Ok(());
        }
        place.make()?;
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
            let path = place.body(digest);
            // Most new answers have a body that another question has, or that was there before.
            let there = files::read(&path, size).map_err(StoreError::io("read", &path))?;
            if there.is_none_or(|there| there[..] != bytes[..]) {
                place.write(&path, bytes)?;
                written += size.max(1);
            }
        }
        let bytes = entry.write();
        let path = place.entry(key);
        let was_there = path.exists();
        place.write(&path, &bytes)?;
        if !was_there {
            written += evict::BLOCK;
        }
        if written == 0 {
            return Ok(());
        }
        evict::grow(&place.root, written, self.budget)
    }

    /// Keeps nothing of the answer to a question any more.
    ///
    /// # Errors
    ///
    /// When the directory is refused.
    pub fn forget(&self, question: &Question) -> Result<(), StoreError> {
        if let Some(place) = self.there()? {
            files::remove(&place.entry(Key::of(question).digest()));
        }
        Ok(())
    }

    /// Removes all that is kept, and returns how much it was.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be read.
    pub fn clean(&self) -> Result<StoreSize, StoreError> {
        let size = self.size()?;
        if let Some(place) = self.there()? {
            // Without its entry no body is used, so entries go first.
            for folder in ["entries", "bodies"] {
                for (path, _) in place.list(folder)? {
                    files::remove(&path);
                }
            }
            files::remove(&place.root.join("growth"));
            files::sweep(&place.root.join("temp"));
        }
        Ok(size)
    }

    /// Returns how much is kept.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be read.
    pub fn size(&self) -> Result<StoreSize, StoreError> {
        let Some(place) = self.there()? else {
            return Ok(StoreSize::default());
        };
        let (entries, bodies) = (place.list("entries")?, place.list("bodies")?);
        let bytes = entries.iter().chain(&bodies).map(|(_, it)| it.len()).sum();
        Ok(StoreSize {
            answers: entries.len() as u64,
            bytes,
        })
    }

    /// Returns the place, if it is there and may be used.
    fn there(&self) -> Result<Option<&Place>, StoreError> {
        match &self.place {
            Some(place) if place.is_there()? => Ok(Some(place)),
            _ => Ok(None),
        }
    }
}

impl Place {
    fn kept(&self, entry: &Entry) -> Result<Option<Kept>, StoreError> {
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
        Ok(Some(Kept {
            answer,
            fetched: time(entry.fetched),
            checked: time(entry.checked),
        }))
    }

    fn list(&self, folder: &str) -> Result<Vec<(PathBuf, std::fs::Metadata)>, StoreError> {
        let folder = self.root.join(folder);
        files::list(&folder).map_err(StoreError::io("list", &folder))
    }

    fn is_there(&self) -> Result<bool, StoreError> {
        if self.seen.get().is_some() {
            return Ok(true);
        }
        let is_there = directory::is_there(&self.directory)? && directory::is_there(&self.root)?;
        if is_there {
            let _ = self.seen.set(());
        }
        Ok(is_there)
    }

    fn make(&self) -> Result<(), StoreError> {
        if self.made.get().is_none() {
            directory::is_there(&self.directory)?;
            directory::make(&self.root)?;
            // Looked at again: somebody else may have made it.
            directory::is_there(&self.directory)?;
            directory::is_there(&self.root)?;
            let _ = self.seen.set(());
            let _ = self.made.set(());
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
