//! The keys of the whole process.

use super::ValueKind::{
    Anything, Bool, Duration, Integer, NumberList, Seconds, Text, TextList, TextMap,
};
use super::{KeyGroup, KeySpec};

pub(super) const GROUPS: &[KeyGroup] = &[
    KeyGroup {
        table: "",
        keys: GLOBAL,
    },
    KeyGroup {
        table: "session_server",
        keys: SESSION_SERVER,
    },
    KeyGroup {
        table: "machine.shutdown_drain",
        keys: SHUTDOWN_DRAIN,
    },
    KeyGroup {
        table: "experimental.usage_logger",
        keys: USAGE_LOGGER,
    },
    KeyGroup {
        table: "experimental.usage_logger.logrotate",
        keys: LOGROTATE,
    },
    KeyGroup {
        table: "experimental.usage_logger.snowplow_billing",
        keys: SNOWPLOW,
    },
];

const GLOBAL: &[KeySpec] = &[
    KeySpec::supported(
        "concurrent",
        Integer,
        "1",
        "how many jobs of all `[[runners]]` run at a time; at least 1",
    )
    .differs("a request for a job takes none of them, so many `[[runners]]` do not block each other"),
    KeySpec::supported(
        "check_interval",
        Seconds,
        "3 seconds, also for 0",
        "the time from one request for a job to the next",
    )
    .differs("counted from the start of a request, and for each of the `[[runners]]`, not shared by them"),
    KeySpec::supported(
        "log_level",
        Text,
        "`info`",
        "`debug`, `info`, `warn`, `error`; `panic` and `fatal` are the same as `error`",
    ),
    KeySpec::supported(
        "log_format",
        Text,
        "`runner`",
        "`runner`, `text` or `json`",
    ),
    KeySpec::supported(
        "listen_address",
        Text,
        "",
        "where metrics are served; the port is 9252 if it is missing",
    ),
    KeySpec::supported(
        "shutdown_timeout",
        Seconds,
        "30 seconds, also for 0",
        "how long jobs may take to stop after SIGTERM",
    ),
    KeySpec::no_effect(
        "connection_max_age",
        Duration,
        "a connection that GitLab or a proxy closes is replaced at once",
    ),
    KeySpec::supported(
        "labels",
        TextMap,
        "",
        "labels that GitLab shows for all `[[runners]]`",
    ),
    KeySpec::no_effect(
        "sentry_dsn",
        Text,
        "errors go to the log and to the metrics, not to Sentry",
    ),
    KeySpec::refused(
        "user",
        Text,
        "jobs run as the user of this process; start the process as that user",
    ),
];

const SESSION_SERVER: &[KeySpec] = &[
    KeySpec::supported(
        "listen_address",
        Text,
        "no session server",
        "where the server for terminals and ports of services listens, with a port; a change has an effect after a restart",
    ),
    KeySpec::supported(
        "advertise_address",
        Text,
        "`listen_address`",
        "the host and port at which GitLab reaches that server",
    )
    .differs("required if `listen_address` is for all interfaces"),
    KeySpec::supported(
        "session_timeout",
        Seconds,
        "1800 seconds, also for 0",
        "how long an open terminal keeps the environment of a finished job",
    ),
];

const SHUTDOWN_DRAIN: &[KeySpec] = &[
    KeySpec::supported(
        "enabled",
        Bool,
        "`false`",
        "whether idle machines are removed when the process ends",
    ),
    KeySpec::no_effect("concurrency", Integer, "all machines are removed at once"),
    KeySpec::no_effect(
        "max_retries",
        Integer,
        "a removal is repeated until it succeeds, by the next process if this one ends first",
    ),
    KeySpec::no_effect(
        "retry_backoff",
        Duration,
        "the pause between two attempts grows by itself",
    ),
];

/// Of the usage log, of which nothing is written.
const UNUSED: &str = "there is no usage log";

const USAGE_LOGGER: &[KeySpec] = &[
    KeySpec::refused(
        "enabled",
        Bool,
        "there is no usage log; the metrics of `listen_address` count jobs and their times",
    ),
    KeySpec::no_effect("writers", TextList, UNUSED),
];

const LOGROTATE: &[KeySpec] = &[
    KeySpec::no_effect("log_dir", Text, UNUSED),
    KeySpec::no_effect("max_backup_files", Integer, UNUSED),
    KeySpec::no_effect("max_rotation_age", Duration, UNUSED),
    KeySpec::no_effect("labels", TextMap, UNUSED),
];

const SNOWPLOW: &[KeySpec] = &[
    KeySpec::no_effect("collector_uri", Text, UNUSED),
    KeySpec::no_effect("app_id", Text, UNUSED),
    KeySpec::no_effect("category", Text, UNUSED),
    KeySpec::no_effect("realm", Text, UNUSED),
    KeySpec::no_effect("deployment_type", Text, UNUSED),
    KeySpec::no_effect("metadata", Anything, UNUSED),
    KeySpec::no_effect("enable_oidc", Bool, UNUSED),
    KeySpec::no_effect("batch_delivery_duration_buckets", NumberList, UNUSED),
    KeySpec::no_effect("skip_oidc_if_unsupported_cloud", Bool, UNUSED),
    KeySpec::no_effect("skip_runner_system_failure", Bool, UNUSED),
];
