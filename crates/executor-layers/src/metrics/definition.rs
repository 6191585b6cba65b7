//! The definitions of all metrics: names, labels and meanings.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that only grows.
    Counter,
    /// A value that grows and shrinks.
    Gauge,
    /// Counts of observations by size.
    Histogram,
}

impl MetricKind {
    /// Returns Prometheus's name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The definition of one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricDefinition {
    /// Its full name.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// The names of its labels, in order.
    pub labels: &'static [&'static str],
    /// The unit.
    pub unit: &'static str,
    /// The meaning.
    pub help: &'static str,
}

/// Defines the metrics and a list of them in the same order.
macro_rules! definitions {
    ($($id:ident: $kind:ident $name:literal [$($label:literal),*] $unit:literal $help:literal;)*) => {
        $(pub(super) const $id: MetricDefinition = MetricDefinition {
            name: $name,
            kind: MetricKind::$kind,
            labels: &[$($label),*],
            unit: $unit,
            help: $help,
        };)*
        pub(super) const ALL: &[MetricDefinition] = &[$($id),*];
    };
}

definitions! {
    JOBS: Gauge "gitlab_runner_jobs"
        ["runner", "runner_name", "system_id", "state", "stage", "executor_stage"] "jobs"
        "Running jobs, by state and stage.";
    JOBS_TOTAL: Counter "gitlab_runner_jobs_total"
        ["runner", "runner_name", "system_id"] "jobs"
        "Jobs with at least one executor, counted when their capacity is released.";
    JOB_EXECUTION_MODE_TOTAL: Counter "gitlab_runner_job_execution_mode_total"
        ["mode", "executor"] "jobs"
        "The same jobs, by mode: scripts or steps.";
    JOB_DURATION_SECONDS: Histogram "gitlab_runner_job_duration_seconds"
        ["runner", "runner_name", "system_id", "mode"] "seconds"
        "Time from the first executor of a job to the end of its last cleanup.";
    JOB_QUEUE_DURATION_SECONDS: Histogram "gitlab_runner_job_queue_duration_seconds"
        ["runner", "runner_name", "system_id", "project_jobs_running"] "seconds"
        "Time a job waited in the queue of its source, as its payload reports.";
    JOB_QUEUE_SIZE: Gauge "gitlab_runner_job_queue_size"
        ["runner", "runner_name", "system_id"] "jobs"
        "Jobs in the queue of the last job, as its payload reports.";
    JOB_QUEUE_DEPTH: Gauge "gitlab_runner_job_queue_depth"
        ["runner", "runner_name", "system_id"] "jobs"
        "Position of the last job in its queue, as its payload reports.";
    JOB_STAGE_DURATION_SECONDS: Histogram "gitlab_runner_job_stage_duration_seconds"
        ["runner", "runner_name", "system_id", "stage"] "seconds"
        "Time of each build stage; only when enabled.";
    FAILED_JOBS_TOTAL: Counter "gitlab_runner_failed_jobs_total"
        ["runner", "runner_name", "failure_reason", "mode"] "jobs"
        "Jobs that did not succeed, canceled ones included, by reason.";
    CONCURRENT: Gauge "gitlab_runner_concurrent" [] "jobs"
        "Limit of concurrent jobs of all runners; only when set.";
    LIMIT: Gauge "gitlab_runner_limit"
        ["runner", "runner_name", "system_id"] "jobs"
        "Limit of concurrent jobs of a runner; 0 means no limit.";
    VERSION_INFO: Gauge "gitlab_runner_version_info"
        ["name", "version", "revision", "branch", "built_at", "os", "architecture"] "1"
        "The program's version; only when set.";
    ACQUIRES_TOTAL: Counter "runwright_acquires_total"
        ["runner", "runner_name", "system_id", "outcome"] "calls"
        "Requests for capacity, by outcome.";
    ACQUIRE_WAIT_SECONDS: Histogram "runwright_acquire_wait_seconds"
        ["runner", "runner_name", "system_id"] "seconds"
        "Time until capacity was acquired, for successful requests.";
    STAGE_SECONDS: Histogram "runwright_stage_seconds"
        ["runner", "runner_name", "system_id", "stage"] "seconds"
        "Time of each stage without user code, and of prepare_executor, finish and cleanup.";
    USER_CODE_SECONDS: Counter "runwright_user_code_seconds_total"
        ["runner", "runner_name", "system_id"] "seconds"
        "Time inside stages with user code.";
    OVERHEAD_SECONDS: Histogram "runwright_overhead_seconds"
        ["runner", "runner_name", "system_id"] "seconds"
        "Time of a job outside stages with user code, including pauses between attempts.";
    PREPARE_FAILURES_TOTAL: Counter "runwright_prepare_failures_total"
        ["runner", "runner_name", "system_id", "failure_reason"] "calls"
        "Failed preparations; each attempt counts, except those inside an inner retry layer.";
    CLEANUP_FAILURES_TOTAL: Counter "runwright_cleanup_failures_total"
        ["runner", "runner_name", "system_id"] "calls"
        "Cleanups that left resources behind.";
    OUTPUT_BYTES_TOTAL: Counter "runwright_output_bytes_total"
        ["runner", "runner_name", "system_id", "stream"] "bytes"
        "Output of scripts, before masking and limits.";
    CPU_SECONDS_TOTAL: Counter "runwright_cpu_seconds_total"
        ["runner", "runner_name", "system_id"] "seconds"
        "CPU time of scripts, where the executor reports it.";
    OOM_KILLED_STAGES_TOTAL: Counter "runwright_oom_killed_stages_total"
        ["runner", "runner_name", "system_id"] "stages"
        "Stages with a process killed because it was out of memory.";
}
