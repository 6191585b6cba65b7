use thiserror::Error;

/// Why a library has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The project does not exist, or the account may not see it; the reason names the account.
    #[error("{reason}")]
    NoProject {
        /// The details.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
    /// The project has no such branch, tag or commit.
    #[error("the project has no branch, tag or commit `{0}`")]
    NoReference(String),
    /// The server refuses the account.
    #[error("{reason}")]
    Denied {
        /// Which account was refused, and which right is missing.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
    /// The rules for addresses refuse the address.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
        /// Which setting would permit it.
        help: Option<String>,
    },
    /// This library does not answer such questions; another one may.
    #[error("there is no other way to ask for it")]
    NoWay,
    /// Nothing may be fetched while offline, and no answer is stored.
    #[error("it was not fetched before, and nothing is fetched while offline")]
    Offline,
    /// The lock file has no entry for the question.
    #[error("{0}")]
    NotLocked(String),
    /// A text beside the lock file differs from what was locked.
    #[error("{reason}")]
    Damaged {
        /// The file, and how it differs.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
    /// The answer is longer than the limit.
    #[error("{0}")]
    TooLarge(String),
    /// The server cannot be reached or misbehaves. Another attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
}

impl LibraryError {
    /// Returns what the user can do, if anything.
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
