//! Reading the files that make up a pipeline.

use crate::error::LocalError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use yaml::{DecodeError, Limits, decode};

/// Why a text file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the file is not text: {0}")]
    Text(#[from] DecodeError),
    #[error("{0}")]
    NotFile(&'static str),
    #[error("the file is longer than {0} bytes")]
    TooLong(usize),
}

impl ReadError {
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::Io(error) => error,
            other => io::Error::other(other.to_string()),
        }
    }
}

/// Reads a text file, up to the longest pipeline file.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadError> {
    let bytes = read_bytes(path)?;
    let limit = Limits::default().bytes;
    if bytes.len() > limit {
        return Err(ReadError::TooLong(limit));
    }
    Ok(decode(bytes)?)
}

/// Returns whether a path, links not resolved, stays below the directory that it is relative to.
pub(crate) fn stays_below(path: &Path) -> bool {
    path.components()
        .all(|it| matches!(it, Component::Normal(_) | Component::CurDir))
}

/// Returns the real path of a file that came with a project.
///
/// # Errors
///
/// If it does not exist, or is outside of the project, links resolved: a cloned project gets no file of the machine.
pub(crate) fn inside(root: &Path, path: &Path) -> Result<PathBuf, ReadError> {
    let real = fs::canonicalize(root.join(path))?;
    if real.starts_with(fs::canonicalize(root)?) {
        return Ok(real);
    }
    Err(ReadError::NotFile("it leads out of the project"))
}

/// Reads a text file that came with a project, as [`inside`] permits.
pub(crate) fn read_inside(root: &Path, path: &Path) -> Result<String, ReadError> {
    read_text(&inside(root, path)?)
}

/// Opens a file to read it. Anything else is refused, since opening a pipe would wait for a writer.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    File::open(path)
}

/// Reads a file; of one that is too long, one byte more than the limit.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    // Checked first, since opening a pipe would wait for a writer.
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(ReadError::NotFile("it is a directory"));
    }
    if !kind.is_file() {
        return Err(ReadError::NotFile("it is not a file"));
    }
    let limit = Limits::default().bytes as u64;
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn optional(path: &Path) -> Result<Option<String>, LocalError> {
    if_there(read_text(path)).map_err(|error| unreadable(path, error))
}

/// Reads a file that came with a project, as [`inside`] permits; `None` if it does not exist.
pub(crate) fn optional_inside(root: &Path, path: &Path) -> Result<Option<String>, LocalError> {
    if_there(read_inside(root, path)).map_err(|error| unreadable(path, error))
}

/// Returns `None` in place of the error that a file does not exist.
pub(crate) fn if_there(read: Result<String, ReadError>) -> Result<Option<String>, ReadError> {
    match read {
        Ok(text) => Ok(Some(text)),
        Err(ReadError::Io(error))
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the error of a file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: ReadError) -> LocalError {
    LocalError::File {
        path: path.to_owned(),
        source: error.into_io(),
    }
}
