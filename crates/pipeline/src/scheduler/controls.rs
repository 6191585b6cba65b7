use super::Status;
use super::queue::Queue;
use executor_core::JobVariable;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use thiserror::Error;

/// Tells a pipeline what to do while it runs. All clones speak to the same pipeline.
///
/// Nothing here waits: what becomes of a wish is told by the pipeline's events.
#[derive(Clone, Default)]
pub struct Controls {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
enum State {
    #[default]
    NotBegun,
    Runs(Weak<Queue>),
    Ended,
}

/// Why a pipeline does not do what it was told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// It has not begun.
    #[error("the pipeline has not begun yet")]
    NotBegun,
    /// It has ended.
    #[error("the pipeline has ended")]
    Ended,
    /// It has no such job.
    #[error("the pipeline has no job {job:?}")]
    UnknownJob {
        /// The name that was asked for.
        job: String,
        /// A name that is much like it.
        suggestion: Option<String>,
    },
    /// The job cannot be started by hand where it stands.
    #[error("the job {job:?} is {status}: only a manual or delayed job can be started")]
    NotPlayable {
        /// The job.
        job: String,
        /// Where it stands.
        status: Status,
    },
    /// The job has ended, or will not run.
    #[error("the job {job:?} is {status} and cannot be canceled")]
    NotCancelable {
        /// The job.
        job: String,
        /// Where it stands.
        status: Status,
    },
}

/// Where a pipeline and its jobs stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineSnapshot {
    /// Where the pipeline stands.
    pub status: Status,
    /// Where its jobs stand, by stage, within a stage in the order of the file.
    pub jobs: Vec<JobSnapshot>,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSnapshot {
    /// Its name.
    pub name: Arc<str>,
    /// Its stage.
    pub stage: Arc<str>,
    /// Its status.
    pub status: Status,
    /// The attempt it is at, from 1.
    pub attempt: u32,
}

impl Controls {
    /// Starts a manual job, or a delayed one before its time, with these variables besides its own.
    ///
    /// # Errors
    ///
    /// When there is no such job, it does not wait to be started, or the pipeline does not run.
    pub fn play(&self, job: &str, variables: Vec<JobVariable>) -> Result<(), ControlError> {
        self.queue()?.play(job, variables)
    }

    /// Cancels one job: if it runs it is told to stop, and else it will not run.
    ///
    /// # Errors
    ///
    /// When there is no such job, it has ended, or the pipeline does not run.
    pub fn cancel_job(&self, job: &str) -> Result<(), ControlError> {
        self.queue()?.cancel_job(job)
    }

    /// Cancels the pipeline: all jobs that run or have not run yet.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn cancel(&self) -> Result<(), ControlError> {
        self.queue()?.cancel_all();
        Ok(())
    }

    /// Returns where the pipeline and its jobs stand.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn status(&self) -> Result<PipelineSnapshot, ControlError> {
        Ok(self.queue()?.snapshot())
    }

    /// From now on this is the pipeline that is spoken to.
    pub(super) fn attach(&self, queue: &Arc<Queue>) {
        *self.lock() = State::Runs(Arc::downgrade(queue));
    }

    pub(super) fn detach(&self) {
        *self.lock() = State::Ended;
    }

    fn queue(&self) -> Result<Arc<Queue>, ControlError> {
        match &*self.lock() {
            State::NotBegun => Err(ControlError::NotBegun),
            State::Runs(queue) => queue.upgrade().ok_or(ControlError::Ended),
            State::Ended => Err(ControlError::Ended),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &*self.lock() {
            State::NotBegun => "not begun",
            State::Runs(_) => "runs",
            State::Ended => "ended",
        };
        f.debug_tuple("Controls").field(&state).finish()
    }
}
