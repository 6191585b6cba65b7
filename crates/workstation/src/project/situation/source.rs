/// What starts pipelines, in GitLab's words (`CI_PIPELINE_SOURCE`).
pub const SOURCES: [&str; 18] = [
    "push",
    "web",
    "trigger",
    "schedule",
    "api",
    "external",
    "pipeline",
    "chat",
    "webide",
    "merge_request_event",
    "external_pull_request_event",
    "parent_pipeline",
    "ondemand_dast_scan",
    "ondemand_dast_validation",
    "security_orchestration_policy",
    "container_registry_push",
    "duo_workflow",
    "pipeline_execution_policy_schedule",
];

/// What starts the pipeline of a branch or tag unless something else is said.
pub(super) const PUSH: &str = "push";

/// What starts the pipeline of a merge request.
pub(super) const MERGE_REQUEST: &str = "merge_request_event";

/// What starts the pipeline of a pull request on another server.
pub(super) const EXTERNAL_PULL_REQUEST: &str = "external_pull_request_event";

/// What starts the child of another pipeline, which is in the situation of its parent.
pub(crate) const PARENT: &str = "parent_pipeline";

/// What starts a pipeline from one of another project.
pub(crate) const UPSTREAM: &str = "pipeline";
