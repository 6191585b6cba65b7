//! The list of all metrics: the one place of names, labels and meanings.

/// What Prometheus may do with the numbers of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts observations by their size.
    Histogram,
}

impl MetricKind {
    /// Returns the word of Prometheus.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// What one metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricDefinition {
    /// Its full name.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// The names of its labels, in order.
    pub labels: &'static [&'static str],
    /// What its numbers count.
    pub unit: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// Defines the metrics, and the list of them in the same order.
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
        "Jobs that run now, by what they and their executors are doing.";
    JOBS_TOTAL: Counter "gitlab_runner_jobs_total"
        ["runner", "runner_name", "system_id"] "jobs"
        "Jobs that an executor was created for, counted when their capacity is released.";
    JOB_EXECUTION_MODE_TOTAL: Counter "gitlab_runner_job_execution_mode_total"
        ["mode", "executor"] "jobs"
        "The same jobs, by how they ran: as scripts, or as steps.";
    JOB_DURATION_SECONDS: Histogram "gitlab_runner_job_duration_seconds"
        ["runner", "runner_name", "system_id", "mode"] "seconds"
        "Time from the first executor of a job to the end of its last cleanup.";
    JOB_QUEUE_DURATION_SECONDS: Histogram "gitlab_runner_job_queue_duration_seconds"
        ["runner", "runner_name", "system_id", "project_jobs_running"] "seconds"
        "Time a job waited in the queue of its source, by what its payload says of that.";
    JOB_QUEUE_SIZE: Gauge "gitlab_runner_job_queue_size"
        ["runner", "runner_name", "system_id"] "jobs"
        "Jobs in the queue the last job came from, by what its payload says of that.";
    JOB_QUEUE_DEPTH: Gauge "gitlab_runner_job_queue_depth"
        ["runner", "runner_name", "system_id"] "jobs"
        "Place in the queue where the last job was found, by what its payload says of that.";
    JOB_STAGE_DURATION_SECONDS: Histogram "gitlab_runner_job_stage_duration_seconds"
        ["runner", "runner_name", "system_id", "stage"] "seconds"
        "Time of each stage of a build; only when asked for.";
    FAILED_JOBS_TOTAL: Counter "gitlab_runner_failed_jobs_total"
        ["runner", "runner_name", "failure_reason", "mode"] "jobs"
        "Jobs that did not succeed, canceled ones included, by reason.";
    CONCURRENT: Gauge "gitlab_runner_concurrent" [] "jobs"
        "How many jobs of all runners may run at once; only when told.";
    LIMIT: Gauge "gitlab_runner_limit"
        ["runner", "runner_name", "system_id"] "jobs"
        "How many jobs of a runner may run at once; 0 means any number.";
    VERSION_INFO: Gauge "gitlab_runner_version_info"
        ["name", "version", "revision", "branch", "built_at", "os", "architecture"] "1"
        "Which program this is; only when told.";
    ACQUIRES_TOTAL: Counter "runwright_acquires_total"
        ["runner", "runner_name", "system_id", "outcome"] "calls"
        "Requests for capacity, by what came of them.";
    ACQUIRE_WAIT_SECONDS: Histogram "runwright_acquire_wait_seconds"
        ["runner", "runner_name", "system_id"] "seconds"
        "Time until capacity was there, when it came.";
    STAGE_SECONDS: Histogram "runwright_stage_seconds"
        ["runner", "runner_name", "system_id", "stage"] "seconds"
        "Time of each stage that runs no code of the user, and of prepare_executor, finish and cleanup.";
    USER_CODE_SECONDS: Counter "runwright_user_code_seconds_total"
        ["runner", "runner_name", "system_id"] "seconds"
        "Time inside stages that run code of the user.";
    OVERHEAD_SECONDS: Histogram "runwright_overhead_seconds"
        ["runner", "runner_name", "system_id"] "seconds"
        "Time of a job outside of stages that run code of the user, pauses between attempts included.";
    PREPARE_FAILURES_TOTAL: Counter "runwright_prepare_failures_total"
        ["runner", "runner_name", "system_id", "failure_reason"] "calls"
        "Preparations that failed, each try for itself unless a layer inside tries again.";
    CLEANUP_FAILURES_TOTAL: Counter "runwright_cleanup_failures_total"
        ["runner", "runner_name", "system_id"] "calls"
        "Cleanups that left something behind.";
    OUTPUT_BYTES_TOTAL: Counter "runwright_output_bytes_total"
        ["runner", "runner_name", "system_id", "stream"] "bytes"
        "What scripts wrote, before masking and any limit.";
    CPU_SECONDS_TOTAL: Counter "runwright_cpu_seconds_total"
        ["runner", "runner_name", "system_id"] "seconds"
        "Processor time of scripts, where the executor can tell.";
    OOM_KILLED_STAGES_TOTAL: Counter "runwright_oom_killed_stages_total"
        ["runner", "runner_name", "system_id"] "stages"
        "Stages in which something was killed for lack of memory.";
}
