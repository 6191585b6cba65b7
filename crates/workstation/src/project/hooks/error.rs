use std::io;
use std::path::PathBuf;

/// Why the hook before a push cannot be looked at or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Two hooks would have to be kept.
    #[error("{} is in the way: another hook was kept there", path.display())]
    InTheWay {
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
    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Managed { help, .. } => Some(help),
            Self::InTheWay { .. } => Some("remove one of both, and ask again"),
            Self::Io { .. } => None,
        }
    }
}
