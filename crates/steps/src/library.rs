//! Where functions come from that are not in the environment, and where images of them go.
//!
//! The environment of a job may have neither git nor a network, and no credentials: so whoever follows a request
//! brings what its steps refer to. How is this port's business; the service asks it through the client.

use async_trait::async_trait;
use executor_core::StageVariables;
use std::fmt;
use std::path::{Path, PathBuf};

/// Brings repositories and images with functions, and sends images there.
#[async_trait]
pub trait Library: fmt::Debug + Send + Sync {
    /// Brings all files of a repository or an image.
    ///
    /// It has deadlines of its own. Dropping the future gives up, and leaves nothing half done behind.
    ///
    /// # Errors
    ///
    /// Says what could not be brought, and why.
    async fn fetch(&self, source: &Source, asker: &Asker) -> Result<Fetched, LibraryError>;

    /// Sends an archive that `builtin://function/oci/build` made to a repository, `REGISTRY/REPOSITORY`.
    ///
    /// The tag is the version in the archive; the tags of its major and minor version and `latest` move to
    /// it, unless they are at a later version or it is a pre-release.
    ///
    /// # Errors
    ///
    /// Says what could not be sent, and why.
    async fn publish(
        &self,
        archive: &Path,
        repository: &str,
        asker: &Asker,
    ) -> Result<Published, LibraryError>;
}

/// What has functions in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A git repository.
    Git {
        /// Where it is.
        url: String,
        /// A tag, a branch or a commit, looked for in this order.
        rev: String,
    },
    /// An image in a registry.
    Oci {
        /// The registry's host, and its port where that is named.
        registry: String,
        /// The image's name there.
        repository: String,
        /// Its tag, or its digest.
        tag: String,
        /// The environment's operating system and architecture: `linux/amd64`.
        platform: String,
    },
}

/// For whom something is fetched or published. `Debug` shows no credentials.
#[derive(Clone, Default)]
pub struct Asker {
    /// What variables `DOCKER_AUTH_CONFIG` say, credentials of registries: that of a step before that of the job. What
    /// one says nothing of is looked for in the next.
    pub docker_auth_configs: Vec<String>,
}

/// Files that were brought. They are for reading, and stay until this is dropped.
#[derive(Debug)]
pub struct Fetched {
    /// The root of the repository, or of the image.
    pub directory: PathBuf,
    /// The commit, or the image's digest.
    pub identity: String,
    /// What keeps the directory from being removed.
    pub lease: Option<Box<dyn Keep>>,
}

/// Something that is kept for what its drop does.
pub trait Keep: fmt::Debug + Send + Sync {}

impl<T: fmt::Debug + Send + Sync> Keep for T {}

/// An image that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Its digest.
    pub digest: String,
    /// The tags that name it now.
    pub tags: Vec<String>,
}

/// Why something was not fetched or published.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct LibraryError {
    /// What was wrong, for the job's log: a secret is never in it.
    pub message: String,
    /// Whether the same may succeed later.
    pub is_temporary: bool,
    /// What was behind it.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl LibraryError {
    /// Returns an error that stays.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_temporary: false,
            source: None,
        }
    }
}

impl Asker {
    /// Returns who asks for a job with these variables.
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

    /// Returns it with credentials that count more than what it has.
    pub(crate) fn with_first(mut self, docker_auth_config: String) -> Self {
        if !docker_auth_config.trim().is_empty() {
            self.docker_auth_configs.insert(0, docker_auth_config);
        }
        self
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker")
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
