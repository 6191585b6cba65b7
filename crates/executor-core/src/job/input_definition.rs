use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The inputs of a job by name (`inputs`), in the normalized shape.
pub type JobInputDefinitions = IndexMap<String, JobInputDefinition>;

/// An input of a job: a value that whoever starts the job may choose.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobInputDefinition {
    /// `string`, `number`, `boolean` or `array`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value it has when nobody chooses.
    pub default: Value,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Value>,
    /// The values to choose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Value>>,
    /// A pattern that a value must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
}
