//! One stage of a job: its command, its deadlines, the end of the container it runs in.

use crate::job::container::execs::Execs;
use crate::job::container::watch::{ContainerEnd, current_end};
use executor_core::{BuildError, Cancellation, ExitCode, JobTrace, RunnerConfig, StageCommand};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// A stage, its container, and the log for its output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage<'s> {
    pub(crate) command: &'s StageCommand,
    /// The job's private directory in the container.
    pub(crate) temp_dir: &'s str,
    pub(crate) container: &'s Execs,
    pub(crate) trace: &'s dyn JobTrace,
    pub(crate) cancellation: &'s Cancellation,
}

impl Stage<'_> {
    /// Returns the error of this stage after it was stopped.
    pub(crate) fn stopped(&self) -> BuildError {
        BuildError::stopped("docker", self.cancellation)
    }
}

/// The exit code of a process that was killed.
pub(super) const KILLED: ExitCode = ExitCode(137);

/// How long after the end of a stage the end of its container may become visible.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// How long after a killed stage its container may end from the same kill.
pub(super) const SAME_KILL: Duration = Duration::from_secs(3);

/// The time limits at the end of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) terminate_grace: Duration,
    pub(crate) kill_deadline: Duration,
    /// How long another process may hold the output of an ended shell without writing.
    pub(crate) pipe_grace: Duration,
    pub(crate) idle_after: Duration,
}

impl Timing {
    /// Returns the limits of the runner's settings.
    pub(crate) fn of(config: &RunnerConfig) -> Self {
        Self {
            terminate_grace: config.graceful_kill_timeout,
            kill_deadline: config.force_kill_timeout,
            pipe_grace: Duration::from_secs(1),
            idle_after: Duration::from_millis(100),
        }
    }
}

/// Waits for the next deadline, if there is one.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Inspects the container for an end that `is_such` accepts, until `patience` is over.
pub(super) async fn seen_within(
    patience: Duration,
    container: &Execs,
    is_such: impl Fn(&ContainerEnd) -> bool,
) -> Option<ContainerEnd> {
    let last = Instant::now() + patience;
    loop {
        let end = current_end(&container.engine, &container.container).await;
        if let Some(end) = end.filter(&is_such) {
            return Some(end);
        }
        if Instant::now() >= last {
            return None;
        }
        sleep(SOON / 10).await;
    }
}
