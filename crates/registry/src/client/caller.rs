use super::RegistryError;
use crate::docker_config::DockerConfig;
use crate::{ImageRepository, LoginSource, RegistryLogin};
use std::sync::Arc;

/// The login for a repository, as far as it is known.
#[derive(Debug)]
pub(super) enum Caller {
    Known(RegistryLogin),
    Anonymous,
    /// A login may exist and cannot be read, for this reason.
    Unknown(String),
}

impl Caller {
    /// Finds the login for a repository: first in the configs of a step and its job, then that of the user who runs this
    /// program.
    pub(super) async fn find(
        repository: &ImageRepository,
        docker_auth_configs: &[String],
        logins: Option<&Arc<dyn LoginSource>>,
    ) -> Result<Self, RegistryError> {
        let configs = docker_auth_configs.iter();
        for text in configs.filter(|it| !it.trim().is_empty()) {
            // The job chose the text, so no helper that it names is started.
            let found = DockerConfig::parse(text).and_then(|config| config.login(repository));
            if let Some(login) = found.map_err(RegistryError::AuthConfig)? {
                return Ok(Self::Known(login));
            }
        }
        let Some(logins) = logins else {
            return Ok(Self::Anonymous);
        };
        // Public images are for all users, also for one with an invalid config.
        Ok(match logins.login(repository).await {
            Ok(Some(login)) => Self::Known(login),
            Ok(None) => Self::Anonymous,
            Err(reason) => Self::Unknown(reason),
        })
    }

    pub(super) fn login(&self) -> Option<&RegistryLogin> {
        match self {
            Self::Known(login) => Some(login),
            Self::Anonymous | Self::Unknown(_) => None,
        }
    }

    /// Returns why the login is unknown.
    pub(super) fn unknown(&self) -> Option<&str> {
        match self {
            Self::Unknown(reason) => Some(reason),
            Self::Known(_) | Self::Anonymous => None,
        }
    }
}
