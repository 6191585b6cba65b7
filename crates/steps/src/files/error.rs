use std::io;
use std::path::{Path, PathBuf};
use tonic::Status;

/// Why a transfer of files failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The archive is invalid, or could not be read.
    #[error("read the archive")]
    Archive(#[source] io::Error),
    #[error("the archive is refused: its entry {entry} {why}")]
    Refused { entry: String, why: &'static str },
    #[error("the path {path:?} {why}")]
    Path { path: String, why: &'static str },
    #[error("{} changed while it was packed", .0.display())]
    Changed(PathBuf),
    #[error("it was stopped")]
    Stopped,
}

impl FilesError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns the refusal of an entry, with at most 80 bytes of its name.
    pub(super) fn refused(name: &[u8], why: &'static str) -> Self {
        let start = &name[..name.len().min(80)];
        let dots = if name.len() > 80 { ".." } else { "" };
        Self::Refused {
            entry: format!("{:?}{dots}", String::from_utf8_lossy(start)),
            why,
        }
    }
}

impl From<FilesError> for Status {
    fn from(error: FilesError) -> Self {
        let message = executor_core::chain(&error);
        match error {
            FilesError::Refused { .. } | FilesError::Path { .. } => Self::invalid_argument(message),
            FilesError::Stopped => Self::cancelled(message),
            FilesError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Self::permission_denied(message)
            }
            FilesError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::failed_precondition(message)
            }
            FilesError::Io { .. } | FilesError::Archive(_) | FilesError::Changed(_) => {
                Self::internal(message)
            }
        }
    }
}
