use crate::image::ImageReference;
use bollard::models::Mount;
use std::collections::HashMap;

/// A container of a job, as far as the job and the engine's answers decide about it.
///
/// What the settings decide, [`build_container`](super::build_container) adds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContainerPlan {
    /// What it is for.
    pub role: ContainerRole,
    /// The image: its id, so that a tag which moves meanwhile does not matter.
    pub image: String,
    /// What is put before the command.
    pub entrypoint: Entrypoint,
    /// What is started.
    pub command: Vec<String>,
    /// The user; `None` is the image's.
    pub user: Option<String>,
    /// Where it starts; `None` is where the image says.
    pub working_dir: Option<String>,
    /// The labels.
    pub labels: HashMap<String, String>,
    /// Volumes in the engine's words: `source:destination[:options]`.
    pub binds: Vec<String>,
    /// Mounts that fail where their source is not there.
    pub mounts: Vec<Mount>,
    /// Memory file systems, besides those of the settings: path to options.
    pub tmpfs: HashMap<String, String>,
    /// The network.
    pub network: NetworkPlan,
    /// Lines of `/etc/hosts`, besides those of the settings.
    pub extra_hosts: Vec<String>,
    /// Other containers it reaches by a name, besides those of the settings: `container:alias`.
    pub links: Vec<String>,
    /// Variables that are no secrets and no job's: our own.
    pub environment: Vec<String>,
    /// Whether it has all rights, by [`check_privileged`](crate::config::policy::check_privileged).
    pub privileged: bool,
    /// What it reads.
    pub standard_input: StandardInput,
    /// The signal that the engine stops it with; `None` is the image's.
    pub stop_signal: Option<String>,
    /// The text of the profile that a `seccomp=FILE` of the settings names.
    pub seccomp: Option<String>,
}

/// What a container of a job is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ContainerRole {
    /// For the job's scripts.
    #[default]
    Build,
    /// For common work.
    Helper,
}

/// What is put before a container's command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Entrypoint {
    /// What the image has.
    #[default]
    Image,
    /// This, which may be nothing.
    Instead(Vec<String>),
}

impl Entrypoint {
    /// Returns what a job asks for: nothing is the image's, one empty text is none at all.
    pub fn of_job(entrypoint: &[String]) -> Self {
        match entrypoint {
            [] => Self::Image,
            [empty] if empty.is_empty() => Self::Instead(Vec::new()),
            words => Self::Instead(words.to_vec()),
        }
    }
}

/// The network that a container is in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkPlan {
    /// The network, or one of the engine's words for another; `None` is the engine's default.
    pub mode: Option<String>,
    /// The names the container has there; engines have them only in networks that somebody made.
    pub aliases: Vec<String>,
}

/// What a container's main process reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum StandardInput {
    /// Nothing.
    #[default]
    Closed,
    /// What is sent after an attach, up to its end.
    Once,
}

/// A container of a service, as far as the job and the engine's answers decide about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServicePlan {
    /// The image: its id.
    pub image: String,
    /// The image as the job names it, for what the settings say about some images.
    pub reference: Option<ImageReference>,
    /// What is put before the command.
    pub entrypoint: Entrypoint,
    /// What is started; nothing is what the image has.
    pub command: Vec<String>,
    /// The user; `None` is the image's.
    pub user: Option<String>,
    /// The service's variables: `NAME=value`. The engine shows them.
    pub environment: Vec<String>,
    /// The labels.
    pub labels: HashMap<String, String>,
    /// Volumes in the engine's words.
    pub binds: Vec<String>,
    /// Mounts that fail where their source is not there.
    pub mounts: Vec<Mount>,
    /// The network.
    pub network: NetworkPlan,
    /// Lines of `/etc/hosts`, besides those of the settings.
    pub extra_hosts: Vec<String>,
    /// Whether it has all rights, by [`check_privileged`](crate::config::policy::check_privileged).
    pub privileged: bool,
    /// The text of the profile that a `seccomp=FILE` of the settings names.
    pub seccomp: Option<String>,
}
