use std::io;
use std::path::PathBuf;

/// Why the environments of a project cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentsError {
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
    /// The list is damaged.
    #[error("read the list of environments in {}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Another run locked the list for too long.
    #[error("wait for another run that writes {}", path.display())]
    Busy {
        /// The file of the list.
        path: PathBuf,
    },
    /// The environment does not exist.
    #[error("there is no environment {name:?}")]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
}

impl EnvironmentsError {
    /// Returns what the user can do, if anything.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { .. } => {
                Some("correct the file, or remove it: the next deployments create it again")
            }
            Self::Unknown { .. } => Some("`runwright environments` lists them"),
            Self::Io { .. } | Self::Busy { .. } => None,
        }
    }
}
