use executor_core::ActiveJobs;
use prometheus::Registry;

/// What [`Metrics`](crate::Metrics) tell, and where.
#[derive(Debug, Clone, Default)]
pub struct MetricsOptions {
    /// The registry they are put into; default one of their own.
    pub registry: Registry,
    /// The list that workers keep of the jobs that run: give the workers a clone of it.
    pub active: ActiveJobs,
    /// Which machine this is (`system_id`), in GitLab's way; default empty.
    pub system_id: String,
    /// Which program this is; `None`, the default, tells nothing.
    pub version: Option<VersionInfo>,
    /// How many jobs of all runners may run at once (`concurrent`); `None`, the default, tells
    /// nothing.
    pub concurrent: Option<u32>,
    /// Whether each stage of the build has a histogram of GitLab's; default it has not.
    pub stage_durations: StageDurations,
}

/// Whether `gitlab_runner_job_stage_duration_seconds` is told: 13 series for each stage and runner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StageDurations {
    /// It is not.
    #[default]
    Omit,
    /// It is, as with GitLab Runner's `FF_EXPORT_HIGH_CARDINALITY_METRICS`.
    Export,
}

/// Which program this is, for `gitlab_runner_version_info`. The system and the architecture are added.
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
    /// When it was built.
    pub built_at: String,
}
