//! The port to functions outside of the environment, and to registries for their images.
//!
//! The environment of a job may have no git, no network and no credentials. So the client that follows a request fetches
//! what its steps refer to, through this port.

use async_trait::async_trait;
use executor_core::StageVariables;
use std::fmt;
use std::path::{Path, PathBuf};

/// Fetches repositories and images with functions, and publishes images.
#[async_trait]
pub trait Library: fmt::Debug + Send + Sync {
    /// Fetches all files of a repository or an image.
    ///
    /// It has its own timeouts. Dropping the future stops it, and leaves nothing incomplete behind.
    ///
    /// # Errors
    ///
    /// When the source cannot be fetched.
    async fn fetch(
        &self,
        source: &Source,
        credentials: &JobCredentials,
    ) -> Result<Fetched, LibraryError>;

    /// Publishes an archive of `builtin://function/oci/build` to a repository, `REGISTRY/REPOSITORY`.
    ///
    /// The tag is the version in the archive. The tags of its major and minor version and `latest` move to it, unless they
    /// are at a later version or it is a pre-release.
    ///
    /// # Errors
    ///
    /// When the image cannot be published.
    async fn publish(
        &self,
        archive: &Path,
        repository: &str,
        credentials: &JobCredentials,
    ) -> Result<Published, LibraryError>;
}

/// A source of functions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A git repository.
    Git {
        /// The address.
        url: String,
        /// A tag, a branch or a commit, searched in this order.
        rev: String,
    },
    /// An image in a registry.
    Oci {
        /// The host of the registry, with its port if any.
        registry: String,
        /// The name of the image.
        repository: String,
        /// The tag or digest.
        tag: String,
        /// The platform of the environment, for example `linux/amd64`.
        platform: String,
    },
}

/// The credentials of a job. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct JobCredentials {
    /// The values of `DOCKER_AUTH_CONFIG`, with credentials for registries: that of a step before that of the job. A
    /// registry that is missing in one is searched in the next.
    pub docker_auth_configs: Vec<String>,
}

/// Fetched files. They are read-only, and kept until this is dropped.
#[derive(Debug)]
pub struct Fetched {
    /// The root of the repository, or of the image.
    pub directory: PathBuf,
    /// The commit, or the digest of the image.
    pub identity: String,
    /// Keeps the directory from being removed.
    pub lease: Option<Box<dyn Keep>>,
}

/// A guard that is held for the effect of its drop.
pub trait Keep: fmt::Debug + Send + Sync {}

impl<T: fmt::Debug + Send + Sync> Keep for T {}

/// A published image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The digest.
    pub digest: String,
    /// The tags that refer to it.
    pub tags: Vec<String>,
}

/// Why a source could not be fetched or an image not be published.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct LibraryError {
    /// The message for the job's log, without secrets.
    pub message: String,
    /// Whether another attempt may succeed.
    pub is_temporary: bool,
    /// The cause.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl LibraryError {
    /// Returns a permanent error.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_temporary: false,
            source: None,
        }
    }
}

impl JobCredentials {
    /// Returns the credentials of a job with these variables.
    pub fn of(variables: &StageVariables) -> Self {
        const NAME: &str = "DOCKER_AUTH_CONFIG";
        let file = variables.files.iter().find(|file| file.key == NAME);
        let mut environment = variables.environment.iter();
        let docker_auth_config = match file {
            Some(file) => String::from_utf8(file.content.clone()).ok(),
            None => environment
                .rfind(|(key, _)| key == NAME)
                .map(|(_, value)| value.clone()),
        };
        Self {
            docker_auth_configs: Vec::new(),
        }
        .with_first(docker_auth_config.unwrap_or_default())
    }

    /// Adds credentials that take precedence.
    pub(crate) fn with_first(mut self, docker_auth_config: String) -> Self {
        if !docker_auth_config.trim().is_empty() {
            self.docker_auth_configs.insert(0, docker_auth_config);
        }
        self
    }
}

impl fmt::Debug for JobCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobCredentials")
            .field("docker_auth_configs", &self.docker_auth_configs.len())
            .finish()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git { url, rev } => write!(f, "{}@{rev}", crate::language::shown_url(url)),
            Self::Oci {
                registry,
                repository,
                tag,
                ..
            } => {
                let sign = if tag.contains(':') { '@' } else { ':' };
                write!(f, "{registry}/{repository}{sign}{tag}")
            }
        }
    }
}
