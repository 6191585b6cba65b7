use crate::Fault;
use crate::remote::RemoteError;
use executor_core::HumanDuration;
use gitlab_api::{ApiError, Instance};
use std::io;
use std::time::Duration;

/// Why the variables of a GitLab cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VariablesError {
    /// The options forbid requests.
    #[error("variables are only on GitLab, and no server may be requested")]
    Offline,
    /// The project's GitLab is unknown.
    #[error("no GitLab is known for this project")]
    NoGitLab,
    /// The project's path on the GitLab is unknown.
    #[error("this repository has no remote on {0}, so its project there is unknown")]
    NoProject(Instance),
    /// No request can be sent.
    #[error(transparent)]
    Elsewhere(#[from] RemoteError),
    /// The GitLab refuses.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// The GitLab is too slow.
    #[error("{server} did not send all variables within {}", HumanDuration(*limit))]
    Late {
        /// The GitLab.
        server: Instance,
        /// The time limit.
        limit: Duration,
    },
    /// The response cannot be awaited.
    #[error("wait for GitLab")]
    Waiting(#[source] io::Error),
}

impl VariablesError {
    /// Returns what the user can do, if anything.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Offline => Some("leave out one of --offline and --gitlab-variables".to_owned()),
            Self::NoGitLab => Some("name it with --gitlab URL".to_owned()),
            Self::NoProject(_) => {
                Some("name the project's repository with `git remote add origin URL`".to_owned())
            }
            Self::Elsewhere(error) => error.help().map(str::to_owned),
            Self::Refused(error) => error.help(),
            Self::Late { .. } | Self::Waiting(_) => None,
        }
    }

    /// Returns who can correct it.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Refused(error) if error.is_temporary() => Fault::System,
            Self::Late { .. } | Self::Waiting(_) => Fault::System,
            _ => Fault::Usage,
        }
    }
}
