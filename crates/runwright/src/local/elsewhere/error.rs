use super::SettingsError;
use gitlab_api::InstanceError;
use thiserror::Error;
use web::WebError;

/// Why nothing can be asked elsewhere.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ElsewhereError {
    /// The user's settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The GitLab that was named is none.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// No requests can be sent.
    #[error(transparent)]
    Web(#[from] WebError),
}

impl ElsewhereError {
    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Settings(error) => error.help.as_deref(),
            Self::Instance(_) => Some("a GitLab is named as in `https://gitlab.example.com`"),
            Self::Web(error) => error.help(),
        }
    }
}
