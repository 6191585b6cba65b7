use executor_core::ActiveJobs;
use prometheus::Registry;

/// The options of [`Metrics`](crate::Metrics).
#[derive(Debug, Clone, Default)]
pub struct MetricsOptions {
    /// The registry for the metrics; default a new one.
    pub registry: Registry,
    /// The list of running jobs; pass a clone of it to the workers.
    pub active: ActiveJobs,
    /// The id of the machine (`system_id`), in GitLab's form; default empty.
    pub system_id: String,
    /// The program's version; `None`, the default, omits the metric.
    pub version: Option<VersionInfo>,
    /// The limit of concurrent jobs (`concurrent`); `None`, the default, omits the metric.
    pub concurrent: Option<u32>,
    /// Whether each build stage has a histogram, as in GitLab; default no.
    pub stage_durations: StageDurations,
}

/// Whether `gitlab_runner_job_stage_duration_seconds` is exported: 13 series for each stage and runner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StageDurations {
    /// The histogram is not exported.
    #[default]
    Omit,
    /// The histogram is exported, as with GitLab Runner's `FF_EXPORT_HIGH_CARDINALITY_METRICS`.
    Export,
}

/// The program, for `gitlab_runner_version_info`. The operating system and architecture are added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionInfo {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from.
    pub revision: String,
    /// The branch it was built from.
    pub branch: String,
    /// The time of the build.
    pub built_at: String,
}
