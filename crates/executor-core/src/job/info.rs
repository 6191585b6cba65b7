use super::PipelineId;
use super::lenient::{null_is_default, text_or_number};
use serde::{Deserialize, Serialize};

/// What a job is called and where it belongs (`job_info` of the payload).
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
    /// Who started the job.
    #[serde(deserialize_with = "null_is_default")]
    pub user_id: u64,
    /// For whom the job acts, when it is a composite identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scoped_user_id: Option<u64>,
    /// How long the job waited, in seconds.
    #[serde(deserialize_with = "null_is_default")]
    pub time_in_queue_seconds: f64,
    /// How many jobs of the project run on instance runners; `+Inf`-like text for "many".
    #[serde(deserialize_with = "text_or_number")]
    pub project_jobs_running_on_instance_runners_count: String,
    /// How many jobs wait in the queue the job came from.
    #[serde(deserialize_with = "null_is_default")]
    pub queue_size: i64,
    /// How deep in that queue the job was found.
    #[serde(deserialize_with = "null_is_default")]
    pub queue_depth: i64,
}

/// What the source knows of the runner (`runner_info` of the payload).
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
