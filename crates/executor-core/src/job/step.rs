use super::lenient::{known_word, null_is_default};
use serde::{Deserialize, Serialize};

/// When a step of the payload runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepWhen {
    /// While everything before succeeded.
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
    /// The step's name; its stage is `step_<name>`, but for `after_script`.
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
    /// Whether the job goes on when it fails.
    #[serde(deserialize_with = "null_is_default")]
    pub allow_failure: bool,
}

impl Step {
    /// The name of the step that holds the user's script.
    pub const SCRIPT: &str = "script";
    /// The name of the step that holds the user's `after_script`.
    pub const AFTER_SCRIPT: &str = "after_script";
}
