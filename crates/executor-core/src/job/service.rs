use super::{Image, VariableDefinition};
use crate::variable::JobVariable;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A service of a pipeline file (`services`), in the normalized shape.
///
/// It is converted to an [`Image`] for an executor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceDefinition {
    /// The image.
    pub name: String,
    /// The host name or names, separated by spaces or commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The entry point that replaces the image's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entrypoint: Vec<String>,
    /// The command that replaces the image's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Variables for the service only.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub variables: IndexMap<String, VariableDefinition>,
    /// Pull policies in the order to try them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pull_policy: Vec<String>,
    /// Options for containers: `platform` and `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<Value>,
    /// Options for pods: `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Value>,
}

impl From<&ServiceDefinition> for Image {
    fn from(service: &ServiceDefinition) -> Self {
        let service = service.clone();
        let variable = |(name, definition): (String, VariableDefinition)| JobVariable {
            raw: definition.is_raw(),
            ..JobVariable::public(name, definition.value())
        };
        Self {
            name: service.name,
            alias: service.alias,
            entrypoint: service.entrypoint,
            command: service.command,
            variables: service.variables.into_iter().map(variable).collect(),
            pull_policy: service.pull_policy,
            docker: service.docker,
            kubernetes: service.kubernetes,
            ..Self::default()
        }
    }
}
