//! A run that is described and holds nothing yet.

use super::executor::RunExecutor;
use super::local_run::LocalRun;
use super::options::RunOptions;
use super::planning::plan;
use super::reserved_run::ReservedRun;
use crate::error::LocalError;
use crate::history::state::StateDir;
use crate::project::local_pipeline::LocalPipeline;
use pipeline::Plan;

/// Describes a run. It reserves nothing until [`reserve`](Self::reserve) or [`prepare`](Self::prepare).
///
/// A program that knows its executor names it and calls `prepare`. One that chooses the executor by the
/// plan calls `reserve`.
#[derive(Debug, Clone)]
pub struct RunBuilder<'p, E = ()> {
    pipeline: &'p LocalPipeline,
    state: Option<StateDir>,
    options: RunOptions,
    executor: E,
}

impl<'p> RunBuilder<'p> {
    pub(super) fn new(pipeline: &'p LocalPipeline) -> Self {
        Self {
            pipeline,
            state: None,
            options: RunOptions::default(),
            executor: (),
        }
    }

    /// Sets what runs the jobs.
    pub fn executor(self, executor: impl Into<RunExecutor>) -> RunBuilder<'p, RunExecutor> {
        RunBuilder {
            pipeline: self.pipeline,
            state: self.state,
            options: self.options,
            executor: executor.into(),
        }
    }
}

impl<E> RunBuilder<'_, E> {
    /// Sets the state directory; default the user's.
    #[must_use]
    pub fn state(mut self, state: StateDir) -> Self {
        self.state = Some(state);
        self
    }

    /// Sets how the pipeline is run; default all jobs, on a snapshot of the working tree.
    #[must_use]
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Plans the run without reserving anything, to show what would run.
    ///
    /// # Errors
    ///
    /// When there is no repository, the selection names an unknown job, or a job cannot run outside a
    /// GitLab.
    pub fn preview(&self) -> Result<Plan, LocalError> {
        self.pipeline.project().check_repository()?;
        plan(1, self.pipeline, &self.options, None)
    }

    /// Plans the run and reserves what it needs, after removing the leftovers of dead runs.
    ///
    /// # Errors
    ///
    /// When there is no repository, the selection names an unknown job, a job cannot run outside a GitLab,
    /// another run has the working tree in place, or the state cannot be written.
    pub async fn reserve(self) -> Result<ReservedRun, LocalError> {
        let state = match self.state {
            Some(state) => state,
            None => StateDir::of_user()?,
        };
        ReservedRun::new(self.pipeline, state, self.options).await
    }
}

impl RunBuilder<'_, RunExecutor> {
    /// Plans the run and reserves what it needs, for the executor that was set.
    ///
    /// # Errors
    ///
    /// Those of [`reserve`](Self::reserve).
    pub async fn prepare(self) -> Result<LocalRun, LocalError> {
        let builder = RunBuilder {
            pipeline: self.pipeline,
            state: self.state,
            options: self.options,
            executor: (),
        };
        Ok(builder.reserve().await?.executor(self.executor))
    }
}
