use super::docker_config::DockerConfig;
use super::login::{Credentials, RegistryLogin};
use super::name::ImageName;
use crate::error::Error;
use std::sync::Arc;
use steps::Asker;

/// Who asks a registry, as far as that can be told.
#[derive(Debug)]
pub(super) enum Caller {
    /// Somebody it may know.
    Known(RegistryLogin),
    /// Nobody in particular.
    Nobody,
    /// It cannot be told, for this reason.
    Unclear(String),
}

impl Caller {
    /// Returns who asks for an image: first what a step and the job say, then what the user of this program is.
    pub(super) async fn find(
        image: &ImageName,
        asker: &Asker,
        credentials: Option<&Arc<dyn Credentials>>,
    ) -> Result<Self, Error> {
        let configs = asker.docker_auth_configs.iter();
        for text in configs.filter(|it| !it.trim().is_empty()) {
            let found = DockerConfig::parse(text).and_then(|config| config.login(image));
            let found = found.map_err(|why| Error::Invalid {
                what: "the variable DOCKER_AUTH_CONFIG".to_owned(),
                why: format!("is not as it should be: {why}"),
                help: Some("it holds what docker's config.json does".to_owned()),
            })?;
            if let Some(login) = found {
                return Ok(Self::Known(login));
            }
        }
        let Some(credentials) = credentials else {
            return Ok(Self::Nobody);
        };
        let found = credentials.login(&image.registry, &image.repository).await;
        // What is public is for everybody, also for those whose own file is broken.
        Ok(match found {
            Ok(Some(login)) => Self::Known(login),
            Ok(None) => Self::Nobody,
            Err(why) => Self::Unclear(why),
        })
    }

    /// Returns what the registry is told of who asks.
    pub(super) fn login(&self) -> Option<&RegistryLogin> {
        match self {
            Self::Known(login) => Some(login),
            Self::Nobody | Self::Unclear(_) => None,
        }
    }

    /// Returns why it cannot be told who asks.
    pub(super) fn doubt(&self) -> Option<&str> {
        match self {
            Self::Unclear(why) => Some(why),
            Self::Known(_) | Self::Nobody => None,
        }
    }
}
