//! The definitions of all metrics: names, labels, buckets and meanings.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MetricKind {
    /// A value that only grows.
    Counter,
    /// A value that grows and shrinks.
    Gauge,
    /// Counts of observations, with the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

/// The definition of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MetricDefinition {
    pub(super) name: &'static str,
    pub(super) kind: MetricKind,
    /// The names of its labels, in order.
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
}

impl MetricDefinition {
    /// Returns whether GitLab Runner has a metric of this name.
    pub(super) fn is_gitlab(&self) -> bool {
        self.name.starts_with("gitlab_runner_")
    }
}

/// GitLab Runner's buckets for whole jobs.
const JOB: &[f64] = &[
    30.0, 60.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 10_800.0, 18_000.0, 36_000.0,
];

/// GitLab Runner's buckets for build stages and for the time in the queue.
const STAGE: &[f64] = &[
    1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 1_800.0, 3_600.0,
];

/// GitLab Runner's buckets for calls of the server.
const CALL: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// From milliseconds, as with a shell, to minutes, as with a machine that has to boot.
const OVERHEAD: &[f64] = &[
    0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0,
];

/// Defines the metrics and a list of them in the same order.
macro_rules! definitions {
    ($($id:ident: $kind:ident $(($buckets:ident))? $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(super) const $id: MetricDefinition = MetricDefinition {
            name: $name,
            kind: MetricKind::$kind $(($buckets))?,
            labels: &[$($label),*],
            help: $help,
        };)*
        pub(super) const ALL: &[MetricDefinition] = &[$($id),*];
    };
}

definitions! {
    JOBS: Gauge "gitlab_runner_jobs"
        ["runner", "runner_name", "system_id", "state", "stage", "executor_stage"]
        "Running jobs, by state and stage. Each runner has a series `idle` with the value 0.";
    JOBS_TOTAL: Counter "gitlab_runner_jobs_total"
        ["runner", "runner_name", "system_id"]
        "Accepted jobs.";
    JOB_EXECUTION_MODE_TOTAL: Counter "gitlab_runner_job_execution_mode_total"
        ["mode", "executor"]
        "Ended jobs, by mode: `script` or `steps`.";
    JOB_DURATION_SECONDS: Histogram(JOB) "gitlab_runner_job_duration_seconds"
        ["runner", "runner_name", "system_id", "mode"]
        "Time from the acceptance of a job to the end of its cleanup.";
    JOB_STAGE_DURATION_SECONDS: Histogram(STAGE) "gitlab_runner_job_stage_duration_seconds"
        ["runner", "runner_name", "system_id", "stage"]
        "Time of each build stage. `FF_EXPORT_HIGH_CARDINALITY_METRICS` is not necessary.";
    FAILED_JOBS_TOTAL: Counter "gitlab_runner_failed_jobs_total"
        ["runner", "runner_name", "failure_reason", "mode"]
        "Jobs that did not succeed, canceled ones included, by reason.";
    JOB_QUEUE_DURATION_SECONDS: Histogram(STAGE) "gitlab_runner_job_queue_duration_seconds"
        ["runner", "runner_name", "system_id", "project_jobs_running"]
        "Time that accepted jobs waited in the server's queue, as the server reports it.";
    JOB_QUEUE_SIZE: Gauge "gitlab_runner_job_queue_size"
        ["runner", "runner_name", "system_id"]
        "Jobs in the queue of the last job, as the server reports it.";
    JOB_QUEUE_DEPTH: Gauge "gitlab_runner_job_queue_depth"
        ["runner", "runner_name", "system_id"]
        "How far the server searched its queue for the last job, as the server reports it.";
    CONCURRENT: Gauge "gitlab_runner_concurrent" []
        "The setting `concurrent`.";
    LIMIT: Gauge "gitlab_runner_limit"
        ["runner", "runner_name", "system_id"]
        "The setting `limit` of a runner; 0 for none.";
    REQUEST_CONCURRENCY: Gauge "gitlab_runner_request_concurrency"
        ["runner", "system_id"]
        "Requests for jobs that wait for an answer.";
    REQUEST_CONCURRENCY_HARD_LIMIT: Gauge "gitlab_runner_request_concurrency_hard_limit"
        ["runner", "system_id"]
        "The setting `request_concurrency` of a runner.";
    REQUEST_CONCURRENCY_USED_LIMIT: Gauge "gitlab_runner_request_concurrency_used_limit"
        ["runner", "system_id"]
        "How many requests for jobs may be open now, from the answers to earlier ones.";
    REQUEST_CONCURRENCY_EXCEEDED_TOTAL: Counter "gitlab_runner_request_concurrency_exceeded_total"
        ["runner", "system_id"]
        "Always 0: no request is begun beyond the limit.";
    API_REQUEST_STATUSES_TOTAL: Counter "gitlab_runner_api_request_statuses_total"
        ["runner", "system_id", "endpoint", "status", "method"]
        "Calls of the server, by status. The status is `error` if there was no answer; GitLab Runner does not count these.";
    API_REQUEST_DURATION_SECONDS: Histogram(CALL) "gitlab_runner_api_request_duration_seconds"
        ["runner", "system_id", "endpoint", "status_class", "method"]
        "Time of calls of the server, including the time that the server holds a request for a job.";
    WORKER_FEEDS_TOTAL: Counter "gitlab_runner_worker_feeds_total"
        ["runner", "runner_name", "system_id"]
        "Turns of a runner: each acquires capacity, asks for a job and runs it.";
    WORKER_FEED_FAILURES_TOTAL: Counter "gitlab_runner_worker_feed_failures_total"
        ["runner", "runner_name", "system_id"]
        "Answers after which a runner paused for longer than `check_interval`.";
    WORKER_SLOTS_NUMBER: Gauge "gitlab_runner_worker_slots_number" []
        "Jobs that may run at a time.";
    WORKER_SLOT_OPERATIONS_TOTAL: Counter "gitlab_runner_worker_slot_operations_total"
        ["operation"]
        "Changes of that number by one: `started` and `stopped`.";
    WORKER_PROCESSING_FAILURES_TOTAL: Counter "gitlab_runner_worker_processing_failures_total"
        ["failure_type", "runner", "runner_name", "system_id"]
        "Turns that failed: `no_free_executor`, `job_failure` or `other`.";
    WORKER_HEALTH_CHECK_FAILURES_TOTAL: Counter "gitlab_runner_worker_health_check_failures_total"
        ["runner", "runner_name", "system_id"]
        "Requests for a job that the server refused or did not answer.";
    CONFIGURATION_LOADED_TOTAL: Counter "gitlab_runner_configuration_loaded_total" []
        "How often config.toml was read.";
    CONFIGURATION_LOADING_ERROR_TOTAL: Counter "gitlab_runner_configuration_loading_error_total" []
        "How often config.toml could not be used.";
    CONFIGURATION_SAVED_TOTAL: Counter "gitlab_runner_configuration_saved_total" []
        "How often config.toml was written.";
    CONFIGURATION_SAVING_ERROR_TOTAL: Counter "gitlab_runner_configuration_saving_error_total" []
        "How often config.toml could not be written.";
    ERRORS_TOTAL: Counter "gitlab_runner_errors_total"
        ["level"]
        "Lines of the runner's log, by level: `warning` and `error`.";
    PROCESS_STATE_INFO: Gauge "gitlab_runner_process_state_info"
        ["state"]
        "1 for the current state: `starting`, `running`, `graceful-shutdown` or `forceful-shutdown`.";
    VERSION_INFO: Gauge "gitlab_runner_version_info"
        ["name", "version", "revision", "branch", "go_version", "built_at", "os", "architecture"]
        "1, with the version as labels. `branch`, `go_version` and `built_at` are empty.";
    JOB_OVERHEAD_SECONDS: Histogram(OVERHEAD) "runwright_runner_job_overhead_seconds"
        ["runner", "stage"]
        "Time of each stage of a job that is not user code, `prepare_executor` and `cleanup_executor` included.";
    OUTBOX_JOBS: Gauge "runwright_runner_outbox_jobs"
        ["runner"]
        "Ended jobs whose end the server does not have yet.";
    TRACE_BYTES_TOTAL: Counter "runwright_runner_trace_bytes_total"
        ["runner"]
        "Bytes of logs that the server accepted.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_prometheus() {
        for metric in ALL {
            let is_total = metric.name.ends_with("_total");
            assert_eq!(
                is_total,
                metric.kind == MetricKind::Counter,
                "{}",
                metric.name
            );
            if let MetricKind::Histogram(buckets) = metric.kind {
                assert!(metric.name.ends_with("_seconds"), "{}", metric.name);
                assert!(buckets.is_sorted());
            }
            assert!(metric.is_gitlab() || metric.name.starts_with("runwright_runner_"));
        }
    }
}
