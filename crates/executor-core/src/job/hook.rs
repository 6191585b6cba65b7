use super::lenient::null_is_default;
use serde::{Deserialize, Serialize};

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookName {
    /// Before the sources are fetched.
    #[serde(rename = "pre_get_sources_script")]
    PreGetSources,
    /// After the sources are there.
    #[serde(rename = "post_get_sources_script")]
    PostGetSources,
}

/// A script that runs around the fetching of sources (`hooks[]` of the payload).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// When it runs.
    pub name: HookName,
    /// Its lines.
    #[serde(default, deserialize_with = "null_is_default")]
    pub script: Vec<String>,
}

/// `hooks` of a pipeline file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HooksDefinition {
    /// Lines to run before the sources are fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_get_sources_script: Option<Vec<String>>,
}
