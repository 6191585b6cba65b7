use executor_core::JobVariable;
use executor_core::job::Image;
use serde::Deserialize;

/// A service of every job of a runner (`[[runners.docker.services]]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceConfig {
    /// The image.
    pub name: String,
    /// The host names, separated by spaces or commas.
    pub alias: Option<String>,
    /// The command that replaces the image's own.
    pub command: Vec<String>,
    /// The entry point that replaces the image's own.
    pub entrypoint: Vec<String>,
    /// Variables of the service alone: `NAME=value`.
    pub environment: Vec<String>,
    /// For suspended jobs; ignored.
    pub suspend_data_path: Option<String>,
}

impl From<&ServiceConfig> for Image {
    fn from(service: &ServiceConfig) -> Self {
        let variable = |line: &String| {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            JobVariable::public(name, value)
        };
        Self {
            alias: service.alias.clone(),
            command: service.command.clone(),
            entrypoint: service.entrypoint.clone(),
            variables: service.environment.iter().map(variable).collect(),
            ..Self::named(&service.name)
        }
    }
}
