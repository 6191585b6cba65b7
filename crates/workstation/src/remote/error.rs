use crate::settings::SettingsError;
use gitlab_api::InstanceError;
use thiserror::Error;
use web::WebError;

/// Why no server can be requested.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The user's settings are invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The URL of the GitLab is invalid.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// No requests can be sent.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The thread that waits for responses cannot start, with its error.
    #[error("wait for servers: {0}")]
    Waiting(String),
}

impl RemoteError {
    pub(super) fn waiting(error: &std::io::Error) -> Self {
        Self::Waiting(error.to_string())
    }

    /// Returns what the user can do, if anything.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Settings(error) => error.help.as_deref(),
            Self::Instance(_) => Some("expected a URL such as `https://gitlab.example.com`"),
            Self::Web(error) => error.help(),
            Self::Waiting(_) => None,
        }
    }
}
