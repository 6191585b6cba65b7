use super::lenient::{null_is_default, text_or_number};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name, pipeline and project of a job (`job_info` of the payload).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobInfo {
    /// The job's name, expanded (`test 1/2`, `build: [linux]`).
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// The job's stage.
    #[serde(deserialize_with = "null_is_default")]
    pub stage: String,
    /// The pipeline the job belongs to.
    #[serde(deserialize_with = "null_is_default")]
    pub pipeline_id: PipelineId,
    /// The project's id.
    #[serde(deserialize_with = "null_is_default")]
    pub project_id: u64,
    /// The project's name, without its namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub project_name: String,
    /// The project's path with its namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub project_full_path: String,
    /// The id of the project's namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub namespace_id: u64,
    /// The id of the outermost namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub root_namespace_id: u64,
    /// The organization's id.
    #[serde(deserialize_with = "null_is_default")]
    pub organization_id: u64,
    /// The GitLab instance's id.
    #[serde(deserialize_with = "null_is_default")]
    pub instance_id: String,
    /// The GitLab instance's universally unique id.
    #[serde(deserialize_with = "null_is_default")]
    pub instance_uuid: String,
    /// The id of the user who started the job.
    #[serde(deserialize_with = "null_is_default")]
    pub user_id: u64,
    /// The id of the user the job acts for, with a composite identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scoped_user_id: Option<u64>,
    /// The job's time in the queue, in seconds.
    #[serde(deserialize_with = "null_is_default")]
    pub time_in_queue_seconds: f64,
    /// The number of jobs of the project on instance runners; a text like `+Inf` for "many".
    #[serde(deserialize_with = "text_or_number")]
    pub project_jobs_running_on_instance_runners_count: String,
    /// The number of jobs in the queue the job came from.
    #[serde(deserialize_with = "null_is_default")]
    pub queue_size: i64,
    /// The job's position in that queue.
    #[serde(deserialize_with = "null_is_default")]
    pub queue_depth: i64,
}

/// The source's data about the runner (`runner_info` of the payload).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunnerInfo {
    /// The runner's universally unique id.
    #[serde(deserialize_with = "null_is_default")]
    pub uuid: String,
    /// The job's timeout in seconds; 0 means the default of two hours.
    #[serde(deserialize_with = "null_is_default")]
    pub timeout: u64,
}

/// The features of the job's source (`features` of the payload).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobFeatures {
    /// Whether the log may contain section markers.
    #[serde(deserialize_with = "null_is_default")]
    pub trace_sections: bool,
    /// Token prefixes to mask besides the built-in ones.
    #[serde(deserialize_with = "null_is_default")]
    pub token_mask_prefixes: Vec<String>,
    /// The failure reasons the source knows; others are mapped to these.
    #[serde(deserialize_with = "null_is_default")]
    pub failure_reasons: Vec<String>,
    /// The job's position in a distributed trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracing: Option<TracingFeatures>,
}

/// The position of a job in a distributed trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TracingFeatures {
    /// The trace the job belongs to.
    #[serde(deserialize_with = "null_is_default")]
    pub trace_id: String,
    /// The span that is its parent.
    #[serde(deserialize_with = "null_is_default")]
    pub span_parent_id: String,
    /// The endpoints that receive spans.
    #[serde(deserialize_with = "null_is_default")]
    pub otel_endpoints: Vec<serde_json::Value>,
}

/// The id of a job, assigned by its source.
///
/// It is unique within a source; ids of different sources may collide.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a pipeline, assigned by its creator.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PipelineId(pub u64);

impl fmt::Display for PipelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
