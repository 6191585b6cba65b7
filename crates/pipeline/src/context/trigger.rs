use executor_core::job::{JobId, PipelineId};
use std::collections::HashMap;
use std::sync::Arc;

/// The call with a trigger token that started a pipeline.
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

/// An ancestor pipeline, whose artifacts this one can fetch (`needs:pipeline`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AncestorPipeline {
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
    /// The arguments of the command.
    pub input: String,
    /// The user who wrote it.
    pub user_id: String,
}

/// The pull request on another server that a pipeline runs for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalPullRequest {
    /// Its number.
    pub iid: u64,
    /// The source repository.
    pub source_repository: String,
    /// The target repository.
    pub target_repository: String,
    /// The source branch.
    pub source_branch: String,
    /// The commit of that branch.
    pub source_sha: String,
    /// The target branch.
    pub target_branch: String,
    /// The commit of that branch.
    pub target_sha: String,
}
