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
        /// With which file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The list is none.
    #[error("read the list of environments in {}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Somebody else kept the list for too long.
    #[error("wait for another run that writes {}", path.display())]
    Busy {
        /// The list's file.
        path: PathBuf,
    },
    /// There is no such environment.
    #[error("there is no environment {name:?}")]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
}

impl EnvironmentsError {
    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { .. } => {
                Some("mend the file, or remove it: the next deployments write it anew")
            }
            Self::Unknown { .. } => Some("`runwright environments` lists them"),
            Self::Io { .. } | Self::Busy { .. } => None,
        }
    }
}
