use serde::Deserialize;

/// How stages get into the container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineChoice {
    /// The first of the others that works.
    #[default]
    Auto,
    /// By our agent, the main process of the container.
    Agent,
    /// By an exec of the image's shell for each stage.
    Exec,
    /// By a start of the container for each stage, as in GitLab Runner.
    Attach,
}

/// How files get into the container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourcesChoice {
    /// Mounted when the engine sees this host's files, else copied.
    #[default]
    Auto,
    /// Mounted; a job fails when that is not possible.
    Mount,
    /// Copied.
    Copy,
}

/// The network of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
pub enum NetworkChoice {
    /// Its own for a job with services, else the engine's default.
    #[default]
    Auto,
    /// Its own for each job.
    PerJob,
    /// This one: `bridge`, `host`, `none`, `container:name`, or the name of a network.
    Named(String),
}

impl NetworkChoice {
    /// Returns whether a job with this number of services gets its own network.
    pub fn is_own(&self, services: usize) -> bool {
        match self {
            Self::Auto => services > 0,
            Self::PerJob => true,
            Self::Named(_) => false,
        }
    }

    /// Returns whether it is a user-defined network, which resolves names.
    pub fn is_custom(&self) -> bool {
        matches!(self, Self::Named(name) if !is_builtin(name))
    }
}

/// Returns whether this is a built-in network of the engine, which does not resolve names.
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
