use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A step of a job that runs steps instead of a script (`run`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunStep {
    /// Its name.
    pub name: String,
    /// Commands for a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The step it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepReference>,
    /// The step it calls, under the newer keyword.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub func: Option<StepReference>,
    /// The inputs of the called step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<IndexMap<String, Value>>,
    /// Variables of its environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<IndexMap<String, String>>,
}

/// Where a called step is defined (`run:step`, `run:func`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepReference {
    /// In a Git repository.
    Git(GitStep),
    /// In an OCI registry.
    Oci(OciStep),
    /// `./path` or `host/path@ref`.
    #[serde(untagged)]
    Text(String),
}

/// A step in a Git repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitStep {
    /// The repository.
    pub url: String,
    /// The commit.
    pub rev: String,
    /// The directory in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The file in the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A step in an OCI registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OciStep {
    /// The registry.
    pub registry: String,
    /// The repository in the registry.
    pub repository: String,
    /// The tag in the repository.
    pub tag: String,
    /// The directory in the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The file in the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}
