use super::docker_config::DockerConfig;
use super::name::ImageName;
use crate::error::Error;
use async_trait::async_trait;
use executor_core::job::SecretString;
use std::fmt;
use std::sync::Arc;
use steps::Asker;

/// Knows who the user of this program is to registries: a file of docker, helpers, a vault.
#[async_trait]
pub trait Credentials: fmt::Debug + Send + Sync {
    /// Returns who asks a registry for a repository; `None` for nobody in particular.
    ///
    /// # Errors
    ///
    /// Says why that cannot be found out. A secret is not in it.
    async fn login(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Option<RegistryLogin>, String>;
}

/// Who asks a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryLogin {
    /// A name and a password.
    Password {
        /// The name.
        username: String,
        /// The password.
        password: SecretString,
    },
    /// A token that is changed for another one where the registry says.
    IdentityToken(SecretString),
    /// A token that the registry itself takes.
    RegistryToken(SecretString),
}

/// Returns who asks for an image: first what a step and the job say, then what the user of this program is.
pub(super) async fn login(
    image: &ImageName,
    asker: &Asker,
    credentials: Option<&Arc<dyn Credentials>>,
) -> Result<Option<RegistryLogin>, Error> {
    let configs = asker.docker_auth_configs.iter();
    for text in configs.filter(|it| !it.trim().is_empty()) {
        let found = DockerConfig::parse(text).and_then(|config| config.login(image));
        let found = found.map_err(|why| Error::Asked {
            what: "the variable DOCKER_AUTH_CONFIG".to_owned(),
            why: format!("is not as it should be: {why}"),
            help: Some("it holds what docker's config.json does".to_owned()),
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    let Some(credentials) = credentials else {
        return Ok(None);
    };
    let found = credentials.login(&image.registry, &image.repository).await;
    found.map_err(|why| {
        Error::Refused(
            format!("nobody can tell who asks {}: {why}", image.registry),
            None,
        )
    })
}
