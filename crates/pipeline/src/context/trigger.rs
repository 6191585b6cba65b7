use executor_core::job::{JobId, PipelineId};
use std::collections::HashMap;
use std::sync::Arc;

/// What a trigger token's call brought along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trigger {
    /// The body of the call, as JSON.
    pub payload: Option<String>,
    /// The first characters of the token.
    pub short_token: Option<String>,
}

/// The job that started this pipeline from another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Upstream {
    /// The other pipeline's project.
    pub project_id: u64,
    /// The other pipeline.
    pub pipeline_id: u64,
    /// The job.
    pub job_id: u64,
}

/// A pipeline above this one, whose jobs' artifacts it can fetch (`needs:pipeline`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relative {
    /// The pipeline.
    pub id: PipelineId,
    /// Its jobs by name.
    pub jobs: Arc<HashMap<String, JobId>>,
}

/// The chat command that started a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chat {
    /// The channel.
    pub channel: String,
    /// What was written behind the command.
    pub input: String,
    /// Who wrote it.
    pub user_id: String,
}

/// The pull request on another server that a pipeline runs for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalPullRequest {
    /// Its number.
    pub iid: u64,
    /// The repository its changes come from.
    pub source_repository: String,
    /// The repository its changes go to.
    pub target_repository: String,
    /// The branch its changes come from.
    pub source_branch: String,
    /// The commit that branch points at.
    pub source_sha: String,
    /// The branch its changes go to.
    pub target_branch: String,
    /// The commit that branch points at.
    pub target_sha: String,
}
