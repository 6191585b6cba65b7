//! Reading the files that make up a pipeline.

use crate::error::LocalError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use yaml::{DecodeError, Limits, decode};

/// Why a file gave no text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the file is no text: {0}")]
    Text(#[from] DecodeError),
    #[error("{0}")]
    NoFile(&'static str),
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

/// Reads a text file, and never more than a pipeline file may hold.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadError> {
    let bytes = read_bytes(path)?;
    let limit = Limits::default().bytes;
    if bytes.len() > limit {
        return Err(ReadError::TooLong(limit));
    }
    Ok(decode(bytes)?)
}

/// Opens a file to read it. Opening a pipe would wait for somebody to write, so what it is is looked at
/// before.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    File::open(path)
}

/// Reads a file; of one that is too long, a byte more than is allowed.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    // Opening a pipe would wait for somebody to write, so what it is is looked at before.
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(ReadError::NoFile("it is a directory"));
    }
    if !kind.is_file() {
        return Err(ReadError::NoFile("it is no file"));
    }
    let limit = Limits::default().bytes as u64;
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file that need not be there.
pub(crate) fn optional(path: &Path) -> Result<Option<String>, LocalError> {
    match read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(ReadError::Io(error))
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(unreadable(path, error)),
    }
}

/// Returns the error of a file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: ReadError) -> LocalError {
    LocalError::File {
        path: path.to_owned(),
        source: error.into_io(),
    }
}
