//! Reads the lock file and its texts from the project.

use super::error::RENEW;
use super::{LockFile, LockFileError, LockedText};
use crate::Digest;
use crate::folder::{Folder, Found};
use std::path::Path;

/// The longest lock file that is read.
const MAX_LOCK: u64 = 8 << 20;

/// The longest text that is read.
const MAX_TEXT: u64 = 64 << 20;

impl LockFile {
    /// Reads the lock file at the top of a project, if there is one.
    ///
    /// # Errors
    ///
    /// When it is not a file, too long, or not what [`write`](crate::Vendored::write) writes.
    pub fn read(top: &Path) -> Result<Option<Self>, LockFileError> {
        let path = Path::new(Self::NAME);
        let fail = |reason: String| LockFileError::new(path, reason).with_help(RENEW);
        let io = |error| LockFileError::io(path, &error);
        let folder = Folder::open(top).map_err(io)?;
        let found = folder.read(Self::NAME, MAX_LOCK);
        match found.map_err(io)? {
            Found::Nothing => Ok(None),
            Found::NoFile => {
                let help = format!("remove it; then {RENEW}");
                Err(fail("it is not a regular file".to_owned()).with_help(&help))
            }
            Found::TooLong => Err(fail(format!("it has more than {} MiB", MAX_LOCK >> 20))),
            Found::Bytes(bytes) => {
                let text = String::from_utf8(bytes);
                let text = text.map_err(|_| fail("it is not UTF-8".to_owned()))?;
                Self::parse(path, &text).map(Some)
            }
        }
    }
}

/// The state of a text, compared with the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextState {
    /// As locked.
    Same(Vec<u8>),
    /// The file does not exist.
    Missing,
    /// Another text; `None` if it is not a file, or too long to be read.
    Changed(Option<Digest>),
}

impl LockedText {
    /// Returns the path of its file, from the top of the project.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", LockFile::TEXTS, self.name)
    }

    /// Reads its file in the directory of texts, and compares it.
    pub(crate) fn state(&self, texts: Option<&Folder>) -> Result<TextState, LockFileError> {
        let found = texts.map_or(Ok(Found::Nothing), |texts| texts.read(&self.name, MAX_TEXT));
        let found = found.map_err(|error| LockFileError::io(self.path(), &error))?;
        Ok(match found {
            Found::Nothing => TextState::Missing,
            Found::NoFile | Found::TooLong => TextState::Changed(None),
            Found::Bytes(bytes) => {
                let digest = Digest::of(&bytes);
                if digest == self.digest && bytes.len() as u64 == self.size {
                    TextState::Same(bytes)
                } else {
                    TextState::Changed(Some(digest))
                }
            }
        })
    }
}

/// Opens a project's directory of texts, if there is one.
pub(crate) fn open_texts(top: &Path) -> Result<Option<Folder>, LockFileError> {
    let open = || {
        let mut folder = Folder::open(top)?;
        for name in LockFile::TEXTS.split('/') {
            let Some(below) = folder.below(name)? else {
                return Ok(None);
            };
            folder = below;
        }
        Ok(Some(folder))
    };
    open().map_err(|error: std::io::Error| LockFileError::io(LockFile::TEXTS, &error))
}
