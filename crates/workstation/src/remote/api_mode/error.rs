use crate::Fault;
use crate::remote::RemoteError;
use gitlab_api::{ApiError, Instance};
use std::io;

/// Why no GitLab read the pipeline file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiModeError {
    /// No server is to be asked.
    #[error("no server is to be asked, and only GitLab can read the file in its way")]
    Offline,
    /// Inputs are given, which the lint does not take.
    #[error("GitLab's lint takes no inputs, so those that are given would count for nothing")]
    Inputs,
    /// Another dialect is meant, which GitLab does not know.
    #[error("GitLab reads its own dialect alone")]
    Dialect,
    /// Nothing says where the project's GitLab is.
    #[error("no GitLab is known for this project")]
    NoGitLab,
    /// Nothing says which project of the GitLab it is.
    #[error("it is not known which project of {0} this is, as the repository has no remote there")]
    NoProject(Instance),
    /// There is no token.
    #[error("there is no token for {server}, which lints files for members of the project alone")]
    NoToken {
        /// For which GitLab.
        server: Instance,
        /// Where one was looked for, in words for the user.
        places: Vec<String>,
    },
    /// Nothing can be asked.
    #[error(transparent)]
    Elsewhere(#[from] RemoteError),
    /// The GitLab does not answer.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// There is nobody who could wait for an answer.
    #[error("wait for GitLab")]
    Waiting(#[source] io::Error),
}

impl ApiModeError {
    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Offline => {
                "leave out one of --offline and --prefer-api (also GLCI_PREFER_API)".to_owned()
            }
            Self::Inputs => {
                "leave out --prefer-api (also GLCI_PREFER_API), and inputs are put in here"
                    .to_owned()
            }
            Self::Dialect => {
                "leave out one of --dialect and --prefer-api (also GLCI_PREFER_API)".to_owned()
            }
            Self::NoGitLab => "name it with --gitlab URL".to_owned(),
            Self::NoProject(_) => {
                "name the project's repository with `git remote add origin URL`".to_owned()
            }
            Self::NoToken { server, places } => {
                let make = format!(
                    "make an access token with the scope `api` at \
                     {server}/-/user_settings/personal_access_tokens"
                );
                match places.as_slice() {
                    [] => make,
                    places => format!("{make}; looked at were: {}", places.join("; ")),
                }
            }
            Self::Elsewhere(error) => error.help()?.to_owned(),
            Self::Refused(error) => error.help()?,
            Self::Waiting(_) => return None,
        })
    }

    /// Returns whose turn it is to mend it.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Refused(error) if error.is_temporary() => Fault::Environment,
            Self::Waiting(_) => Fault::Environment,
            _ => Fault::Usage,
        }
    }
}
