use crate::project::read_file::{ReadError, read_text};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns whether only the owner can access a file with this mode.
pub(crate) fn is_private(mode: u32) -> bool {
    mode.trailing_zeros() >= 6
}

/// A file with tokens.
#[derive(Debug)]
pub(super) enum PrivateFile {
    /// It does not exist.
    Absent,
    /// It is not used, for this reason.
    Unusable(String),
    /// Its text.
    Text(String),
}

impl PrivateFile {
    /// Reads a file, unless other users can read it.
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
            Ok(_) => Self::Unusable(
                "not used: other users can read it; `chmod 600` prevents that".to_owned(),
            ),
            Err(error) => Self::Unusable(format!("not read: {error}")),
        }
    }
}
