use crate::image::ImageReference;
use bollard::models::Mount;
use std::collections::HashMap;

/// A container of a job, as far as it depends on the job and the engine's answers.
///
/// [`build_container`](super::build_container) adds the settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContainerPlan {
    /// Its purpose.
    pub role: ContainerRole,
    /// The id of the image, which does not change with its tag.
    pub image: String,
    /// The entry point, which precedes the command.
    pub entrypoint: Entrypoint,
    /// The command.
    pub command: Vec<String>,
    /// The user; `None` is the image's.
    pub user: Option<String>,
    /// The working directory; `None` is the image's.
    pub working_dir: Option<String>,
    /// The labels.
    pub labels: HashMap<String, String>,
    /// Volumes in the engine's words: `source:destination[:options]`.
    pub binds: Vec<String>,
    /// Mounts that fail when their source does not exist.
    pub mounts: Vec<Mount>,
    /// Memory file systems, besides those of the settings: path to options.
    pub tmpfs: HashMap<String, String>,
    /// The network.
    pub network: NetworkPlan,
    /// Lines of `/etc/hosts`, besides those of the settings.
    pub extra_hosts: Vec<String>,
    /// Other containers it reaches by a name, besides those of the settings: `container:alias`.
    pub links: Vec<String>,
    /// The variables: those of the job that its entry point reads, and our own.
    pub environment: Vec<String>,
    /// Whether it is privileged, by [`check_privileged`](crate::config::policy::check_privileged).
    pub privileged: bool,
    /// Its standard input.
    pub standard_input: StandardInput,
    /// The signal that the engine stops it with; `None` is the image's.
    pub stop_signal: Option<String>,
    /// The text of the profile in `seccomp=FILE` of the settings.
    pub seccomp: Option<String>,
}

/// The purpose of a container of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ContainerRole {
    /// It runs the job's scripts.
    #[default]
    Build,
    /// It runs stages of the runner itself.
    Helper,
}

/// The entry point of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Entrypoint {
    /// That of the image.
    #[default]
    Image,
    /// This one, which may be empty.
    Instead(Vec<String>),
}

impl Entrypoint {
    /// Returns the entry point of a job: an empty list is the image's, one empty text is none.
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
    /// The network or a mode of the engine; `None` is the engine's default.
    pub mode: Option<String>,
    /// The names of the container there; only user-defined networks have them.
    pub aliases: Vec<String>,
}

/// The standard input of a container's main process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum StandardInput {
    /// Nothing.
    #[default]
    Closed,
    /// The input of one attachment.
    Once,
}

/// A container of a service, as far as it depends on the job and the engine's answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServicePlan {
    /// The id of the image.
    pub image: String,
    /// The image as the job names it, for settings about single images.
    pub reference: Option<ImageReference>,
    /// The entry point, which precedes the command.
    pub entrypoint: Entrypoint,
    /// The command; an empty one is the image's.
    pub command: Vec<String>,
    /// The user; `None` is the image's.
    pub user: Option<String>,
    /// The service's variables: `NAME=value`. The engine shows them.
    pub environment: Vec<String>,
    /// The labels.
    pub labels: HashMap<String, String>,
    /// Volumes in the engine's words.
    pub binds: Vec<String>,
    /// Mounts that fail when their source does not exist.
    pub mounts: Vec<Mount>,
    /// The network.
    pub network: NetworkPlan,
    /// Lines of `/etc/hosts`, besides those of the settings.
    pub extra_hosts: Vec<String>,
    /// Whether it is privileged, by [`check_privileged`](crate::config::policy::check_privileged).
    pub privileged: bool,
    /// The text of the profile in `seccomp=FILE` of the settings.
    pub seccomp: Option<String>,
}
