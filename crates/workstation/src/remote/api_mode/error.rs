use crate::Fault;
use crate::remote::RemoteError;
use gitlab_api::{ApiError, Instance};
use std::io;

/// Why a GitLab did not read the pipeline file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiModeError {
    /// The options forbid requests.
    #[error("only GitLab can read the file in its own way, and no server may be requested")]
    Offline,
    /// There are inputs, which the lint does not accept.
    #[error("GitLab's lint accepts no inputs{}", file.as_ref().map_or_else(String::new, |it| format!(", and {it} has some")))]
    Inputs {
        /// The file that has them, if it is not the command line.
        file: Option<String>,
    },
    /// The pipeline has another dialect.
    #[error("GitLab reads only its own dialect")]
    Dialect,
    /// The project's GitLab is unknown.
    #[error("no GitLab is known for this project")]
    NoGitLab,
    /// The project's path on the GitLab is unknown.
    #[error("this repository has no remote on {0}, so its project there is unknown")]
    NoProject(Instance),
    /// There is no token.
    #[error("there is no token for {server}, which lints files only for members of the project")]
    NoToken {
        /// The GitLab.
        server: Instance,
        /// Where a token was looked for.
        places: Vec<String>,
    },
    /// No request can be sent.
    #[error(transparent)]
    Elsewhere(#[from] RemoteError),
    /// The GitLab refuses or does not respond.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// The response cannot be awaited.
    #[error("wait for GitLab")]
    Waiting(#[source] io::Error),
}

impl ApiModeError {
    /// Returns what the user can do, if anything.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Offline => {
                "leave out one of --offline and --prefer-api (also GLCI_PREFER_API)".to_owned()
            }
            Self::Inputs { .. } => "leave out --prefer-api (also GLCI_PREFER_API)".to_owned(),
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
                    places => format!("{make}; searched: {}", places.join("; ")),
                }
            }
            Self::Elsewhere(error) => error.help()?.to_owned(),
            Self::Refused(error) => error.help()?,
            Self::Waiting(_) => return None,
        })
    }

    /// Returns who can correct it.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Refused(error) if error.is_temporary() => Fault::System,
            Self::Waiting(_) => Fault::System,
            _ => Fault::Usage,
        }
    }
}
