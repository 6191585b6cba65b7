//! GitLab Runner's feature flags.

use FlagEffect::{AlwaysOff, AlwaysOn, Either, Honoured};

/// One feature flag.
#[derive(Debug)]
pub(in crate::config) struct Flag {
    pub(in crate::config) name: &'static str,
    /// GitLab Runner's default.
    pub(in crate::config) default: bool,
    pub(in crate::config) effect: FlagEffect,
    /// What the flag does, or why it does nothing.
    pub(in crate::config) text: &'static str,
}

/// What a value of a flag does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum FlagEffect {
    /// As in GitLab Runner.
    Honoured,
    /// The runner works as if it were on.
    AlwaysOn,
    /// The runner works as if it were off.
    AlwaysOff,
    /// It chooses between two implementations, and here is a third.
    Either,
}

const fn flag(name: &'static str, default: bool, effect: FlagEffect, text: &'static str) -> Flag {
    Flag {
        name,
        default,
        effect,
        text,
    }
}

const ONE_SHELL: &str = "there is one way to run a script, which reports each failure";
const ONE_TRANSFER: &str = "there is one way to transfer files";
const NO_WINDOWS: &str = "processes are not run on Windows";

/// All flags, by name.
pub(in crate::config) const FLAGS: &[Flag] = &[
    flag(
        "FF_CLEAN_UP_FAILED_CACHE_EXTRACT",
        false,
        Either,
        "a cache that cannot be extracted is reported in the log",
    ),
    flag(
        "FF_CONCRETE",
        false,
        Either,
        "scripts and steps have one runner",
    ),
    flag(
        "FF_DISABLE_AUTOMATIC_TOKEN_ROTATION",
        false,
        Honoured,
        "an expiring token is not replaced",
    ),
    flag(
        "FF_DISABLE_POWERSHELL_STDIN",
        false,
        Either,
        "scripts of PowerShell are run as files",
    ),
    flag(
        "FF_DISABLE_UMASK_FOR_DOCKER_EXECUTOR",
        false,
        AlwaysOn,
        "files of a job belong to the user of its image",
    ),
    flag(
        "FF_DISABLE_UMASK_FOR_KUBERNETES_EXECUTOR",
        false,
        AlwaysOn,
        "files of a job belong to the user of its image",
    ),
    flag(
        "FF_ENABLE_BASH_EXIT_CODE_CHECK",
        false,
        Honoured,
        "the exit code is checked after each command",
    ),
    flag(
        "FF_ENABLE_JOB_CLEANUP",
        false,
        Honoured,
        "the working tree is reset and cleaned after the job",
    ),
    flag(
        "FF_ENABLE_JOB_INPUTS_INTERPOLATION",
        true,
        AlwaysOn,
        "the inputs of a job are inserted",
    ),
    flag(
        "FF_EXPORT_HIGH_CARDINALITY_METRICS",
        false,
        Honoured,
        "metrics have a label for each project",
    ),
    flag(
        "FF_GIT_URLS_WITHOUT_TOKENS",
        false,
        AlwaysOn,
        "the address of a repository has no token in it",
    ),
    flag(
        "FF_HASH_CACHE_KEYS",
        false,
        Either,
        "the key of a cache on this host is hashed, and an object in a bucket has the key as its name",
    ),
    flag(
        "FF_KUBERNETES_HONOR_ENTRYPOINT",
        false,
        AlwaysOn,
        "the entry point of an image is run",
    ),
    flag(
        "FF_LOG_IMAGES_CONFIGURED_FOR_JOB",
        false,
        Either,
        "the log of a job names its images",
    ),
    flag(
        "FF_MASK_ALL_DEFAULT_TOKENS",
        true,
        AlwaysOn,
        "all tokens of GitLab are masked",
    ),
    flag(
        "FF_NETWORK_PER_BUILD",
        false,
        Honoured,
        "a job has a network of its own",
    ),
    flag(
        "FF_POSIXLY_CORRECT_ESCAPES",
        false,
        Either,
        "texts are quoted in a way that each POSIX shell reads",
    ),
    flag(
        "FF_PRINT_POD_EVENTS",
        false,
        Either,
        "the log has the events that explain why a pod does not start",
    ),
    flag(
        "FF_RESOLVE_FULL_TLS_CHAIN",
        false,
        AlwaysOff,
        "certificates come from `tls-ca-file`, not from addresses that a certificate names",
    ),
    flag(
        "FF_SCRIPT_SECTIONS",
        false,
        Honoured,
        "a command with several lines is a section of the log",
    ),
    flag(
        "FF_SCRIPT_TO_STEP_MIGRATION",
        false,
        AlwaysOff,
        "a script is run as a script",
    ),
    flag(
        "FF_SECRET_RESOLVING_FAILS_IF_MISSING",
        true,
        Honoured,
        "a job with a missing secret fails; otherwise it gets a warning",
    ),
    flag(
        "FF_SUSPENDABLE_ENVIRONMENTS",
        false,
        AlwaysOff,
        "the environment of a job is not suspended",
    ),
    flag(
        "FF_TEST_FEATURE",
        false,
        Either,
        "it only tests GitLab Runner",
    ),
    flag(
        "FF_TIMESTAMPS",
        true,
        Honoured,
        "each line of a log has its time",
    ),
    flag(
        "FF_USE_ADAPTIVE_REQUEST_CONCURRENCY",
        true,
        Honoured,
        "the number of open requests follows the answers, up to `request_concurrency`",
    ),
    flag(
        "FF_USE_ADVANCED_POD_SPEC_CONFIGURATION",
        false,
        AlwaysOn,
        "`pod_spec` of `[runners.kubernetes]` is used",
    ),
    flag(
        "FF_USE_DIRECT_DOWNLOAD",
        true,
        Either,
        "artifacts are loaded from where GitLab redirects to",
    ),
    flag(
        "FF_USE_DOCKER_AUTOSCALER_DIAL_STDIO",
        true,
        Either,
        "the engine of a machine is reached through SSH",
    ),
    flag(
        "FF_USE_DUMB_INIT_WITH_KUBERNETES_EXECUTOR",
        false,
        Either,
        "the runner's agent collects processes that a job leaves",
    ),
    flag(
        "FF_USE_DYNAMIC_TRACE_FORCE_SEND_INTERVAL",
        false,
        Either,
        "a silent job asks for its state as often as GitLab answers fast",
    ),
    flag(
        "FF_USE_EXPONENTIAL_BACKOFF_STAGE_RETRY",
        true,
        Either,
        "the stages of a job are repeated with pauses",
    ),
    flag("FF_USE_FASTZIP", true, Either, "there is one archiver"),
    flag(
        "FF_USE_FLEETING_ACQUIRE_HEARTBEATS",
        false,
        Either,
        "idle machines are checked every `update_interval`",
    ),
    flag(
        "FF_USE_GITALY_CORRELATION_ID",
        true,
        AlwaysOff,
        "requests of Git have no correlation id",
    ),
    flag(
        "FF_USE_GIT_BUNDLE_URIS",
        true,
        AlwaysOff,
        "Git does not load bundles from addresses that a server names",
    ),
    flag(
        "FF_USE_GIT_NATIVE_CLONE",
        false,
        Either,
        "`GIT_CLONE_EXTRA_FLAGS` chooses `git clone`",
    ),
    flag(
        "FF_USE_GIT_PROACTIVE_AUTH",
        false,
        Either,
        "Git has the token for its first request",
    ),
    flag(
        "FF_USE_INIT_WITH_DOCKER_EXECUTOR",
        false,
        Either,
        "`init` in `[runners.docker]` starts an init process",
    ),
    flag(
        "FF_USE_JOB_ROUTER",
        false,
        AlwaysOff,
        "jobs are requested from GitLab itself",
    ),
    flag("FF_USE_LEGACY_BASH_EVAL", false, Either, ONE_SHELL),
    flag(
        "FF_USE_LEGACY_GCS_CACHE_ADAPTER",
        false,
        Either,
        "there is one way to S3",
    ),
    flag(
        "FF_USE_LEGACY_KUBERNETES_EXECUTION_STRATEGY",
        false,
        Either,
        "`engine` in `[runners.kubernetes]` chooses how scripts are run",
    ),
    flag(
        "FF_USE_LEGACY_S3_CACHE_ADAPTER",
        false,
        Either,
        "caches are kept in `cache_dir`",
    ),
    flag(
        "FF_USE_NATIVE_CONTAINER_STOP",
        false,
        AlwaysOn,
        "processes of a container get SIGTERM before SIGKILL",
    ),
    flag(
        "FF_USE_PARALLEL_ARTIFACT_TRANSFER",
        false,
        Either,
        ONE_TRANSFER,
    ),
    flag(
        "FF_USE_PARALLEL_CACHE_TRANSFER",
        false,
        Either,
        "a large cache in a bucket is transferred in parts at a time",
    ),
    flag(
        "FF_USE_POD_ACTIVE_DEADLINE_SECONDS",
        true,
        AlwaysOn,
        "a pod ends soon after the timeout of its job",
    ),
    flag("FF_USE_POWERSHELL_PATH_RESOLVER", false, Either, NO_WINDOWS),
    flag("FF_USE_WINDOWS_JOB_OBJECT", false, Either, NO_WINDOWS),
    flag(
        "FF_USE_WINDOWS_LEGACY_PROCESS_STRATEGY",
        false,
        Either,
        NO_WINDOWS,
    ),
    flag(
        "FF_WAIT_FOR_POD_TO_BE_REACHABLE",
        false,
        Either,
        "a job starts when its pod is ready",
    ),
];

impl Flag {
    /// Returns why this value of the flag has no effect here; `None` if it has, or if nothing differs.
    pub(in crate::config) fn no_effect(&self, value: bool) -> Option<&'static str> {
        let differs = match self.effect {
            Honoured => false,
            AlwaysOn => !value,
            AlwaysOff => value,
            Either => value != self.default,
        };
        differs.then_some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_sorted_and_complete() {
        let names: Vec<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        assert!(names.is_sorted());
        assert_eq!(names.len(), 52);
        let defaults = FLAGS.iter().filter(|flag| flag.default).count();
        assert_eq!(defaults, 12);
    }
}
