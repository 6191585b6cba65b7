use crate::Fault;
use crate::remote::RemoteError;
use gitlab_api::{ApiError, Instance};
use std::io;

/// Why there are no variables from GitLab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VariablesError {
    /// No server is to be asked.
    #[error("no server is to be asked, and variables are kept nowhere else")]
    Offline,
    /// Nothing says where the project's GitLab is.
    #[error("no GitLab is known for this project")]
    NoGitLab,
    /// Nothing says which project of the GitLab it is.
    #[error("it is not known which project of {0} this is, as the repository has no remote there")]
    NoProject(Instance),
    /// Nothing can be asked.
    #[error(transparent)]
    Elsewhere(#[from] RemoteError),
    /// The GitLab does not tell them.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// The GitLab is too slow.
    #[error("{server} did not tell all variables within {seconds} s")]
    Late {
        /// Who.
        server: Instance,
        /// What time there was.
        seconds: u64,
    },
    /// There is nobody who could wait for an answer.
    #[error("wait for GitLab")]
    Waiting(#[source] io::Error),
}

impl VariablesError {
    /// Returns what the user can do, where there is something.
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

    /// Returns whose turn it is to mend it.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Refused(error) if error.is_temporary() => Fault::Environment,
            Self::Late { .. } | Self::Waiting(_) => Fault::Environment,
            _ => Fault::Usage,
        }
    }
}
