use crate::project::read_file::{ReadError, read_text};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns whether a file with this mode is its owner's alone.
pub(crate) fn is_private(mode: u32) -> bool {
    mode.trailing_zeros() >= 6
}

/// A file that holds tokens, as it was found.
#[derive(Debug)]
pub(super) enum PrivateFile {
    /// It is not there.
    Absent,
    /// It is not used, for this reason.
    Unusable(String),
    /// Its text.
    Text(String),
}

impl PrivateFile {
    /// Reads a file, unless others may do so too.
    pub(super) fn read(path: &Path) -> Self {
        let text = match read_text(path) {
            Ok(text) => text,
            Err(ReadError::Io(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Self::Absent;
            }
            Err(error) => return Self::Unusable(format!("not read: {error}")),
        };
        match std::fs::metadata(path) {
            Ok(it) if is_private(it.permissions().mode()) => Self::Text(text),
            Ok(_) => {
                Self::Unusable("not used: others may read it, which `chmod 600` ends".to_owned())
            }
            Err(error) => Self::Unusable(format!("not read: {error}")),
        }
    }
}
