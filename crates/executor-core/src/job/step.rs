use super::lenient::{known_word, null_is_default};
use serde::{Deserialize, Serialize};

/// When a step of the payload runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepWhen {
    /// While all earlier steps succeeded.
    #[default]
    OnSuccess,
    /// After a failure.
    OnFailure,
    /// In both cases.
    Always,
}

/// Lines that run together in one shell (`steps[]` of the payload).
///
/// GitLab sends `script` (`before_script` and `script` in one), `after_script` and `release`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// The step's name; its stage is `step_<name>`, except for `after_script`.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// Its commands, in order.
    #[serde(deserialize_with = "null_is_default")]
    pub script: Vec<String>,
    /// The longest it may take, in seconds; 0 means no limit of its own.
    #[serde(deserialize_with = "null_is_default")]
    pub timeout: u64,
    /// When it runs.
    #[serde(deserialize_with = "known_word")]
    pub when: StepWhen,
    /// Whether the job continues when it fails.
    #[serde(deserialize_with = "null_is_default")]
    pub allow_failure: bool,
}

impl Step {
    /// The name of the step that holds the user's script.
    pub const SCRIPT: &str = "script";
    /// The name of the step that holds the user's `after_script`.
    pub const AFTER_SCRIPT: &str = "after_script";
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookName {
    /// Before the sources are fetched.
    #[serde(rename = "pre_get_sources_script")]
    PreGetSources,
    /// After the sources are fetched.
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
