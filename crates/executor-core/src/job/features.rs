use super::lenient::null_is_default;
use serde::{Deserialize, Serialize};

/// What the job's source can do with the answer (`features` of the payload).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobFeatures {
    /// Whether the log may carry section markers.
    #[serde(deserialize_with = "null_is_default")]
    pub trace_sections: bool,
    /// Token prefixes to mask besides the built-in ones.
    #[serde(deserialize_with = "null_is_default")]
    pub token_mask_prefixes: Vec<String>,
    /// Failure reasons the source knows; others are mapped to these.
    #[serde(deserialize_with = "null_is_default")]
    pub failure_reasons: Vec<String>,
    /// Where the job belongs in a distributed trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracing: Option<TracingFeatures>,
}

/// The place of a job in a distributed trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TracingFeatures {
    /// The trace the job belongs to.
    #[serde(deserialize_with = "null_is_default")]
    pub trace_id: String,
    /// The span that is its parent.
    #[serde(deserialize_with = "null_is_default")]
    pub span_parent_id: String,
    /// Where spans are sent.
    #[serde(deserialize_with = "null_is_default")]
    pub otel_endpoints: Vec<serde_json::Value>,
}
