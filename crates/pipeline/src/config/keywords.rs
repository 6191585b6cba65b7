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
