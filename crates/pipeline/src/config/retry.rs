use super::path::Path;
use super::reader::{Field, Reader, quotes_help, string_help};
use executor_core::job::RetryDefinition;
use yaml::Kind;
use yaml::suggest::did_you_mean;

/// The maximum number of retries.
const MOST_RETRIES: i128 = 2;

/// The failure reasons of `retry:when`; `always` matches all of them.
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

/// Reads `retry`; GitLab's errors do not name the job, so neither does the path here.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<RetryDefinition> {
    let path = Path::top("retry");
    let field = Field {
        path: &path,
        ..field
    };
    match field.node.kind {
        Kind::Int(_) => Some(RetryDefinition {
            max: Some(read_max(reader, field)?),
            ..RetryDefinition::default()
        }),
        Kind::Mapping(_) => {
            let mut retry = RetryDefinition::default();
            let known = ["max", "when", "exit_codes"];
            reader.attributes(field, &known, |reader, key, field| match key {
                "max" => retry.max = read_max(reader, field),
                "when" => retry.when = read_reasons(reader, field),
                _ => retry.exit_codes = reader.integers(field),
            });
            Some(retry)
        }
        _ => {
            let example =
                || string_help(field.node).map(|_| "write for example `retry: 1`".to_owned());
            let help = quotes_help(field.node).or_else(example);
            let words = "has to be either an integer or a hash";
            reader.refuse_with_help(field, words, help);
            None
        }
    }
}

fn read_max(reader: &mut Reader<'_>, field: Field<'_>) -> Option<u32> {
    let Kind::Int(max) = field.node.kind else {
        reader.refuse_with_help(field, "should be an integer", quotes_help(field.node));
        return None;
    };
    let max = max.value();
    if !(0..=MOST_RETRIES).contains(&max) {
        let help = format!("GitLab retries a job at most {MOST_RETRIES} times");
        let words = format!("must be between 0 and {MOST_RETRIES}");
        reader.refuse_with_help(field, words, Some(help));
        return None;
    }
    u32::try_from(max).ok()
}

fn read_reasons(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let reasons = reader.string_or_strings(field)?;
    let mut all_known = true;
    for (index, reason) in reasons.iter().enumerate() {
        if FAILURE_REASONS.contains(&reason.as_str()) {
            continue;
        }
        all_known = false;
        let item = field.node.as_sequence().and_then(|items| items.get(index));
        let node = item.map_or(field.node, AsRef::as_ref);
        let help = did_you_mean(reason, FAILURE_REASONS).unwrap_or_else(|| {
            "common ones are script_failure, runner_system_failure, stuck_or_timeout_failure, \
             job_execution_timeout and always"
                .to_owned()
        });
        let words = format!("names the unknown failure `{reason}`");
        reader.refuse_with_help(Field { node, ..field }, words, Some(help));
    }
    all_known.then_some(reasons)
}
