//! The keywords a file and its jobs may have.

/// The top-level keys that are keywords.
pub(super) const GLOBAL: [&str; 10] = [
    "default",
    "include",
    "before_script",
    "image",
    "services",
    "after_script",
    "variables",
    "stages",
    "cache",
    "workflow",
];

/// The old top-level forms of keywords of `default`.
pub(super) const LEGACY_DEFAULTS: [&str; 5] = [
    "image",
    "services",
    "before_script",
    "after_script",
    "cache",
];

/// The keywords of a job.
pub(super) const JOB: [&str; 39] = [
    "after_script",
    "allow_failure",
    "artifacts",
    "before_script",
    "cache",
    "coverage",
    "dast_configuration",
    "dependencies",
    "environment",
    "except",
    "extends",
    "hooks",
    "id_tokens",
    "identity",
    "image",
    "inherit",
    "inputs",
    "interruptible",
    "manual_confirmation",
    "needs",
    "only",
    "pages",
    "parallel",
    "publish",
    "release",
    "resource_group",
    "retry",
    "rules",
    "run",
    "script",
    "secrets",
    "services",
    "stage",
    "start_in",
    "tags",
    "timeout",
    "trigger",
    "variables",
    "when",
];

/// Returns where a misplaced keyword belongs; `known` are the keywords allowed at its position.
pub(super) fn misplaced(key: &str, known: &[&str]) -> Option<String> {
    let among = |key: &str| known.contains(&key);
    let (in_trigger, in_rule) = (among("trigger") && !among("script"), among("if"));
    let in_default = among("hooks") && !among("stage");
    let in_job = among("stage");
    let in_workflow = among("name") && among("auto_cancel");
    let somewhere = in_job || in_rule || in_default || in_workflow;
    Some(match key {
        "type" if in_job => "`type` is now called `stage`".to_owned(),
        "cobertura" if among("coverage_report") => {
            "write `coverage_report: {coverage_format: cobertura, path: ...}`".to_owned()
        }
        "inputs" if among("include") && among("forward") => {
            "pass inputs to the file: `include: [{local: ..., inputs: ...}]`".to_owned()
        }
        "if" | "changes" | "exists" if somewhere => {
            format!("`{key}` belongs to an entry of `rules:`")
        }
        "variables" if in_default => {
            "variables of all jobs belong to the top level of the file".to_owned()
        }
        "default" | "include" | "stages" | "workflow" if somewhere => {
            format!("`{key}` belongs to the top level of the file")
        }
        _ if in_trigger && JOB.contains(&key) => format!(
            "a trigger job runs nothing itself; it may have: {}",
            known.join(", ")
        ),
        _ if in_rule && JOB.contains(&key) => format!(
            "`{key}` belongs to a job; a rule may have: {}",
            known.join(", ")
        ),
        _ if somewhere && JOB.contains(&key) => format!("`{key}` belongs to a job"),
        _ => return None,
    })
}
