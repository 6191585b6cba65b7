use std::io;
use std::path::PathBuf;

/// Why the pre-push hook cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Two original hooks would have to be kept.
    #[error("{} already has an original hook", path.display())]
    TwoOriginals {
        /// The kept hook.
        path: PathBuf,
    },
    /// Another program writes the hooks of this repository.
    #[error("{manager} manages the hooks of this repository")]
    Managed {
        /// That program.
        manager: &'static str,
        /// What the user can do.
        help: &'static str,
    },
}

impl HookError {
    /// Returns what the user can do, if anything.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Managed { help, .. } => Some(help),
            Self::TwoOriginals { .. } => Some("remove one of the two hooks, and try again"),
            Self::Io { .. } => None,
        }
    }
}
