use serde::Deserialize;

/// How stages get into the container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineChoice {
    /// The first of the others that works.
    #[default]
    Auto,
    /// The container's main process is our agent.
    Agent,
    /// Each stage is an exec of the image's shell.
    Exec,
    /// Each stage is a start of the container, as GitLab Runner does it.
    Attach,
}

/// How files get into the container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourcesChoice {
    /// They are mounted where the engine sees this host's files, else copied.
    #[default]
    Auto,
    /// They are mounted; a job fails where that cannot be.
    Mount,
    /// They are copied.
    Copy,
}

/// The network of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
pub enum NetworkChoice {
    /// One of its own for a job with services, else the engine's default.
    #[default]
    Auto,
    /// One of its own for each job.
    PerJob,
    /// That one: `bridge`, `host`, `none`, `container:name`, or the name of a network.
    Named(String),
}

impl NetworkChoice {
    /// Returns whether the job gets a network of its own, when it has this many services.
    pub fn is_own(&self, services: usize) -> bool {
        match self {
            Self::Auto => services > 0,
            Self::PerJob => true,
            Self::Named(_) => false,
        }
    }

    /// Returns whether it is a network that an operator or user made, where names can be found.
    pub fn is_custom(&self) -> bool {
        matches!(self, Self::Named(name) if !is_builtin(name))
    }
}

/// Returns whether this is no network with a name server: one of the engine's own.
pub(crate) fn is_builtin(name: &str) -> bool {
    matches!(name, "bridge" | "default" | "host" | "none") || name.starts_with("container:")
}

impl From<String> for NetworkChoice {
    fn from(text: String) -> Self {
        match text.as_str() {
            "" | "auto" => Self::Auto,
            "per-job" => Self::PerJob,
            _ => Self::Named(text),
        }
    }
}
