use crate::settings::SettingsError;
use gitlab_api::InstanceError;
use thiserror::Error;
use web::WebError;

/// Why nothing can be asked elsewhere.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The user's settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The GitLab that was named is none.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// No requests can be sent.
    #[error(transparent)]
    Web(#[from] WebError),
    /// Nothing can wait for an answer: the words say why.
    #[error("wait for servers: {0}")]
    Waiting(String),
}

impl RemoteError {
    pub(super) fn waiting(error: &std::io::Error) -> Self {
        Self::Waiting(error.to_string())
    }

    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Settings(error) => error.help.as_deref(),
            Self::Instance(_) => Some("a GitLab is named as in `https://gitlab.example.com`"),
            Self::Web(error) => error.help(),
            Self::Waiting(_) => None,
        }
    }
}
