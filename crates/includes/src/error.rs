use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The project is not there, or whoever asks may not see it; the words say who asked.
    #[error("{reason}")]
    NoProject {
        /// What is known of it.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
    /// The project has no such branch, tag or commit.
    #[error("the project has no branch, tag or commit `{0}`")]
    NoReference(String),
    /// The server refuses whoever asks.
    #[error("{reason}")]
    Denied {
        /// Who was refused, and what is missing.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
    /// The rules refuse the address.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
        /// What lets it in, if it is wanted.
        help: Option<String>,
    },
    /// Whoever was asked has nothing to do with it: somebody else is to be asked.
    #[error("there is no other way to ask for it")]
    NoWay,
    /// Nothing is asked while offline, and this was not kept.
    #[error("it was not fetched before, and nothing is fetched while offline")]
    Offline,
    /// The lock file does not have it.
    #[error("{0}")]
    NotLocked(String),
    /// What stands beside the lock file is not what was locked.
    #[error("{reason}")]
    Damaged {
        /// Which file, and what is wrong with it.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
    /// It is longer than files are read.
    #[error("{0}")]
    TooLarge(String),
    /// The server cannot be reached, or does not do what it should; it may be different next time.
    #[error("{0}")]
    Unavailable(String),
}

impl LibraryError {
    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::NoProject { help, .. }
            | Self::Denied { help, .. }
            | Self::Refused { help, .. }
            | Self::Damaged { help, .. } => help.as_deref(),
            Self::NotLocked(_) => Some("`runwright vendor` adds it"),
            _ => None,
        }
    }
}
