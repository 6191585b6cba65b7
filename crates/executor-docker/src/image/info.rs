use bollard::models::{HealthConfig, ImageInspect};
use registry::ImageReference;

/// An image that the engine has.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ImageInfo {
    /// Its id, `sha256:...`, from which containers are created, so that no later pull changes it.
    pub id: String,
    /// The requested reference.
    pub reference: ImageReference,
    /// Its digest in the registry, `registry/path@sha256:...`; none for a local image.
    pub digest: Option<String>,
    /// Its operating system: `linux`.
    pub os: String,
    /// Its architecture: `amd64`.
    pub architecture: String,
    /// The variant of the architecture: `v7`.
    pub variant: Option<String>,
    /// Its entry point.
    pub entrypoint: Vec<String>,
    /// Its default command.
    pub command: Vec<String>,
    /// The user of its containers; empty means root.
    pub user: String,
    /// The environment of its containers, `NAME=value`.
    pub environment: Vec<String>,
    /// The directory its containers start in; empty means the root.
    pub working_dir: String,
    /// Its exposed ports: `80/tcp`.
    pub exposed_ports: Vec<String>,
    /// Its volumes.
    pub volumes: Vec<String>,
    /// Its health check.
    pub healthcheck: Option<HealthConfig>,
}

impl ImageInfo {
    /// Reads the response of the engine.
    pub(crate) fn of(reference: &ImageReference, answer: ImageInspect) -> Self {
        let config = answer.config.unwrap_or_default();
        let name = reference.name();
        let short = ImageReference::parse(&name).map(|reference| reference.familiar());
        let short = short.unwrap_or_default();
        let short = short.trim_end_matches(":latest");
        let digests = answer.repo_digests.unwrap_or_default();
        let is_ours = |digest: &String| {
            let before = digest.split('@').next().unwrap_or_default();
            before == name || before == short
        };
        Self {
            id: answer.id.unwrap_or_default(),
            reference: reference.clone(),
            digest: digests.iter().find(|digest| is_ours(digest)).cloned(),
            os: answer.os.unwrap_or_default(),
            architecture: answer.architecture.unwrap_or_default(),
            variant: answer.variant.filter(|variant| !variant.is_empty()),
            entrypoint: config.entrypoint.unwrap_or_default(),
            command: config.cmd.unwrap_or_default(),
            user: config.user.unwrap_or_default(),
            environment: config.env.unwrap_or_default(),
            working_dir: config.working_dir.unwrap_or_default(),
            exposed_ports: config.exposed_ports.unwrap_or_default(),
            volumes: config.volumes.unwrap_or_default(),
            healthcheck: config.healthcheck,
        }
    }
}
