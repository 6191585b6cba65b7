use super::reader::{Field, Path, Reader};
use crate::diagnostic::Diagnostic;
use crate::suggest::did_you_mean;
use crate::yaml::Kind;
use executor_core::job::RetryDefinition;

/// How often a job may be tried again.
const MOST_RETRIES: i128 = 2;

/// Why a job failed, in the words of `retry:when`; `always` stands for all of them.
pub const FAILURE_REASONS: [&str; 51] = [
    "always",
    "unknown_failure",
    "script_failure",
    "api_failure",
    "stuck_or_timeout_failure",
    "runner_system_failure",
    "missing_dependency_failure",
    "runner_unsupported",
    "stale_schedule",
    "job_execution_timeout",
    "archived_failure",
    "unmet_prerequisites",
    "scheduler_failure",
    "data_integrity_failure",
    "forward_deployment_failure",
    "user_blocked",
    "project_deleted",
    "ci_quota_exceeded",
    "pipeline_loop_detected",
    "no_matching_runner",
    "trace_size_exceeded",
    "builds_disabled",
    "environment_creation_failure",
    "deployment_rejected",
    "failed_outdated_deployment_job",
    "job_execution_server_timeout",
    "protected_environment_failure",
    "insufficient_bridge_permissions",
    "downstream_bridge_project_not_found",
    "invalid_bridge_trigger",
    "upstream_bridge_project_not_found",
    "insufficient_upstream_permissions",
    "bridge_pipeline_is_child_pipeline",
    "downstream_pipeline_creation_failed",
    "secrets_provider_not_found",
    "reached_max_descendant_pipelines_depth",
    "ip_restriction_failure",
    "reached_max_pipeline_hierarchy_size",
    "reached_downstream_pipeline_trigger_rate_limit",
    "duo_workflow_not_allowed",
    "job_router_failure",
    "job_token_expired",
    "stuck_pending_with_matching_runners",
    "stuck_pending_no_matching_runners",
    "no_updates_running",
    "no_updates_canceling",
    "runner_configuration_error",
    "runner_external_dependency_failure",
    "runner_interrupted",
    "server_timeout_running",
    "server_timeout_canceling",
];

/// Reads `retry`; GitLab names no job in its errors, so neither does the path here.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<RetryDefinition> {
    let path = Path {
        parent: None,
        name: "retry",
    };
    let field = Field {
        path: &path,
        ..field
    };
    match field.node.kind {
        Kind::Int(_) => Some(RetryDefinition {
            max: read_max(reader, field)?,
            ..RetryDefinition::default()
        }),
        Kind::Mapping(_) => {
            let mut retry = RetryDefinition::default();
            let known = ["max", "when", "exit_codes"];
            reader.entries(field, &known, |reader, key, field| match key {
                "max" => retry.max = read_max(reader, field).unwrap_or(0),
                "when" => retry.when = read_reasons(reader, field),
                _ => retry.exit_codes = reader.integers(field),
            });
            Some(retry)
        }
        _ => {
            reader.refuse(field, "has to be either an integer or a hash");
            None
        }
    }
}

fn read_max(reader: &mut Reader<'_>, field: Field<'_>) -> Option<u32> {
    let Kind::Int(max) = field.node.kind else {
        reader.refuse(field, "should be an integer");
        return None;
    };
    if !(0..=MOST_RETRIES).contains(&max) {
        reader.refuse(field, format_args!("must be between 0 and {MOST_RETRIES}"));
        return None;
    }
    u32::try_from(max).ok()
}

fn read_reasons(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let reasons = reader.string_or_strings(field)?;
    let unknown = |reason: &&String| !FAILURE_REASONS.contains(&reason.as_str());
    if let Some(reason) = reasons.iter().find(unknown) {
        let message = format!("{} config names the unknown reason `{reason}`", field.path);
        let error = Diagnostic::error("invalid-value", message).at(field.node.span);
        let error = error.with_help(did_you_mean(reason, FAILURE_REASONS));
        reader.diagnostics.push(error);
        return None;
    }
    Some(reasons)
}
