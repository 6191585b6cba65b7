use crate::builder::JobBuilder;
use crate::recording::RecordingTrace;
use executor_core::variable::{JobVariable, JobVariables};
use executor_core::{Job, JobSlot, JobTrace, PlannedWorkspace, PrepareOptions, RunnerConfig};
use std::sync::Arc;
use std::time::Duration;

/// Returns the settings of a runner for tests, with two seconds between TERM and KILL.
pub fn runner_config(executor: impl Into<String>) -> RunnerConfig {
    RunnerConfig {
        graceful_kill_timeout: Duration::from_secs(2),
        ..RunnerConfig::new("testkit", executor)
    }
}

/// Builds [`PrepareOptions`]: by default a plain job, [`runner_config`] and a new log.
///
/// # Examples
///
/// ```
/// use executor_testkit::{JobBuilder, OptionsBuilder, RecordingTrace};
/// use std::sync::Arc;
///
/// let trace = RecordingTrace::new();
/// let options = OptionsBuilder::new()
///     .job(JobBuilder::new(7).name("unit").build())
///     .trace(Arc::new(trace.clone()))
///     .build();
/// assert_eq!(options.job.job_info.name, "unit");
/// ```
#[derive(Debug, Clone)]
pub struct OptionsBuilder {
    config: RunnerConfig,
    job: Job,
    trace: Arc<dyn JobTrace>,
    slot: JobSlot,
    project_dir: Option<String>,
    planned: Option<PlannedWorkspace>,
}

impl OptionsBuilder {
    /// Starts with the defaults.
    pub fn new() -> Self {
        Self {
            config: runner_config("scripted"),
            job: JobBuilder::new(1).build(),
            trace: Arc::new(RecordingTrace::new()),
            slot: JobSlot::default(),
            project_dir: None,
            planned: None,
        }
    }

    /// Sets the runner's settings.
    pub fn config(mut self, config: RunnerConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the job; its variables become those of the options.
    pub fn job(mut self, job: Job) -> Self {
        self.job = job;
        self
    }

    /// Adds a variable to the job.
    pub fn variable(mut self, variable: JobVariable) -> Self {
        self.job.variables.push(variable);
        self
    }

    /// Sets the log.
    pub fn trace(mut self, trace: Arc<dyn JobTrace>) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the job's concurrency numbers.
    pub fn slot(mut self, slot: JobSlot) -> Self {
        self.slot = slot;
        self
    }

    /// Sets the directory of the sources.
    pub fn project_dir(mut self, project_dir: impl Into<String>) -> Self {
        self.project_dir = Some(project_dir.into());
        self
    }

    /// Lets the executor announce the workspace early.
    pub fn planned(mut self, planned: PlannedWorkspace) -> Self {
        self.planned = Some(planned);
        self
    }

    /// Returns the options.
    pub fn build(self) -> PrepareOptions {
        let variables: JobVariables = self.job.variables.iter().cloned().collect();
        PrepareOptions {
            config: Arc::new(self.config),
            job: Arc::new(self.job),
            variables: Arc::new(variables),
            trace: self.trace,
            slot: self.slot,
            project_dir: self.project_dir,
            planned: self.planned,
        }
    }
}

impl Default for OptionsBuilder {
    fn default() -> Self {
        Self::new()
    }
}
