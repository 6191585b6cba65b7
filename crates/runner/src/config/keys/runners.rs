//! The keys of one `[[runners]]`.

use super::ValueKind::{Bool, BoolMap, Duration, Integer, Seconds, Text, TextList, TextMap, Time};
use super::{KeyEffect, KeyGroup, KeySpec};

pub(super) const GROUPS: &[KeyGroup] = &[
    KeyGroup {
        table: "runners",
        keys: RUNNERS,
    },
    KeyGroup {
        table: "runners.custom_build_dir",
        keys: CUSTOM_BUILD_DIR,
    },
    KeyGroup {
        table: "runners.artifact",
        keys: ARTIFACT,
    },
    KeyGroup {
        table: "runners.experimental.boot_verify",
        keys: BOOT_VERIFY,
    },
    KeyGroup {
        table: "runners.referees.metrics",
        keys: REFEREES,
    },
    KeyGroup {
        table: "runners.monitoring.job_queuing_durations",
        keys: QUEUING,
    },
];

const RUNNERS: &[KeySpec] = &[
    // Identity.
    KeySpec::supported("name", Text, "", "the runner's name, for logs and metrics"),
    KeySpec::supported(
        "url",
        Text,
        "",
        "the address of GitLab, with `http` or `https`; required",
    ),
    KeySpec::supported("id", Integer, "", "the runner's id at GitLab"),
    KeySpec::supported("token", Text, "", "the runner's token; required"),
    KeySpec::supported(
        "token_obtained_at",
        Time,
        "",
        "when the token was created; needed for its rotation",
    ),
    KeySpec::supported(
        "token_expires_at",
        Time,
        "never, also for the year 1",
        "when the token expires; it is replaced at three quarters of its life",
    ),
    KeySpec::supported(
        "tls-ca-file",
        Text,
        "`certs/HOST.crt` beside config.toml, if it exists",
        "a file with certificates that may sign that of GitLab",
    ),
    KeySpec::supported(
        "tls-cert-file",
        Text,
        "`certs/HOST.auth.crt` beside config.toml, if it exists",
        "a file with a client certificate",
    ),
    KeySpec::supported(
        "tls-key-file",
        Text,
        "`certs/HOST.auth.key` beside config.toml, if it exists",
        "the file with its key",
    ),
    // Scheduling.
    KeySpec::supported(
        "limit",
        Integer,
        "0, no limit",
        "how many jobs of this runner run at a time",
    ),
    KeySpec::supported(
        "request_concurrency",
        Integer,
        "1, also for 0",
        "how many requests for jobs are open at a time at most",
    ),
    KeySpec::no_effect(
        "strict_check_interval",
        Bool,
        "after a job the next request is sent at once, and it costs nothing while there is no job",
    ),
    KeySpec::supported(
        "unhealthy_requests_limit",
        Integer,
        "3, also for 0",
        "how many refused requests in a row lead to a longer pause",
    ),
    KeySpec::supported(
        "unhealthy_interval",
        Duration,
        "`1h`",
        "the longest pause after refused requests",
    )
    .differs("the pause starts with 1 minute and doubles up to this, so that a short maintenance of GitLab costs minutes"),
    KeySpec::no_effect(
        "job_status_final_update_retry_limit",
        Integer,
        "the result of a job is kept on disk and sent for three days, also by the next process",
    ),
    KeySpec::supported(
        "output_limit",
        Integer,
        "4096 KiB, also for 0",
        "the longest visible log of a job, in KiB",
    ),
    KeySpec::supported(
        "labels",
        TextMap,
        "",
        "labels that GitLab shows for this runner, in addition to those of the process",
    ),
    // Execution.
    KeySpec::supported("executor", Text, "", "what runs the jobs; required"),
    KeySpec::supported(
        "shell",
        Text,
        "that of the executor",
        "`bash`, `sh`, `pwsh` or `powershell`",
    ),
    KeySpec::supported(
        "builds_dir",
        Text,
        "that of the executor",
        "the directory of builds, where jobs run",
    ),
    KeySpec::supported(
        "cache_dir",
        Text,
        "that of the executor",
        "the directory of caches, where jobs run",
    ),
    KeySpec::supported(
        "clone_url",
        Text,
        "that of the job",
        "the address of GitLab for Git, where it is not that of `url`",
    ),
    KeySpec::supported(
        "environment",
        TextList,
        "",
        "variables of each job, as `NAME=value`; those of the job have precedence",
    ),
    KeySpec::supported(
        "pre_get_sources_script",
        Text,
        "",
        "commands before the sources are fetched",
    ),
    KeySpec::supported(
        "post_get_sources_script",
        Text,
        "",
        "commands after the sources are fetched",
    ),
    KeySpec::refused(
        "pre_clone_script",
        Text,
        "it was renamed; write `pre_get_sources_script`",
    ),
    KeySpec::refused(
        "post_clone_script",
        Text,
        "it was renamed; write `post_get_sources_script`",
    ),
    KeySpec::supported(
        "pre_build_script",
        Text,
        "",
        "commands before the job's own, in the same shell",
    ),
    KeySpec::supported(
        "post_build_script",
        Text,
        "",
        "commands after the job's own, in the same shell",
    ),
    KeySpec::supported(
        "debug_trace_disabled",
        Bool,
        "`false`",
        "whether `CI_DEBUG_TRACE` is ignored",
    ),
    KeySpec::no_effect(
        "safe_directory_checkout",
        Bool,
        "each executor decides whether Git trusts a working tree of another user",
    ),
    KeySpec::no_effect(
        "clean_git_config",
        Bool,
        "settings and hooks of an earlier job's repository are never used",
    ),
    KeySpec::no_effect(
        "proxy_exec",
        Bool,
        "scripts run without a program around their shell",
    ),
    KeySpec::supported(
        "prepare_timeout",
        Seconds,
        "that of the job, also for 0",
        "how long the preparation of a job may take",
    ),
    KeySpec::supported(
        "get_sources_timeout",
        Seconds,
        "that of the job, also for 0",
        "how long fetching the sources may take",
    ),
    KeySpec::refused(
        "use_slot_cgroups",
        Bool,
        "a slot has no cgroup of its own; `cgroup_parent` in `[runners.docker]` is for all slots together",
    ),
    KeySpec::no_effect(
        "slot_cgroup_template",
        Text,
        "a slot has no cgroup of its own",
    ),
    KeySpec::no_effect(
        "step_runner_image",
        Text,
        "the steps of a job run without an image of the step-runner",
    ),
    KeySpec::supported(
        "feature_flags",
        BoolMap,
        "",
        "feature flags by name; the list of them follows",
    ),
];

const CUSTOM_BUILD_DIR: &[KeySpec] = &[KeySpec {
    default: "`true`",
    ..KeySpec::with_effect(
        "enabled",
        Bool,
        KeyEffect::RefusedIfFalse,
        "a job may set `GIT_CLONE_PATH`, to a path below the builds directory; that cannot be disabled",
    )
}];

const ARTIFACT: &[KeySpec] = &[
    KeySpec::supported(
        "upload_timeout",
        Duration,
        "`1h`",
        "how long the upload of an artifact may take",
    ),
    KeySpec::no_effect(
        "response_header_timeout",
        Duration,
        "`upload_timeout` is for the whole upload, with its answer",
    ),
];

/// Of the job that tests an executor at the start.
const NO_BOOT_JOB: &str = "no job is run at the start to test an executor";

const BOOT_VERIFY: &[KeySpec] = &[
    KeySpec::no_effect("enabled", Bool, NO_BOOT_JOB),
    KeySpec::no_effect("timeout", Duration, NO_BOOT_JOB),
    KeySpec::no_effect("acquire_min_backoff", Duration, NO_BOOT_JOB),
    KeySpec::no_effect("acquire_max_backoff", Duration, NO_BOOT_JOB),
];

/// Of the metrics that are attached to a job.
const NO_REFEREE: &str = "no metrics of Prometheus are attached to jobs";

const REFEREES: &[KeySpec] = &[
    KeySpec::no_effect("prometheus_address", Text, NO_REFEREE),
    KeySpec::no_effect("query_interval", Seconds, NO_REFEREE),
    KeySpec::no_effect("queries", TextList, NO_REFEREE),
];

/// Of the metric for jobs that waited too long.
const NO_QUEUING: &str = "the metric for jobs that waited too long does not exist; compute it from the queuing times in the metrics";

const QUEUING: &[KeySpec] = &[
    KeySpec::no_effect("periods", TextList, NO_QUEUING),
    KeySpec::no_effect("timezone", Text, NO_QUEUING),
    KeySpec::no_effect("threshold", Duration, NO_QUEUING),
    KeySpec::no_effect("jobs_running_for_project", Text, NO_QUEUING),
];
