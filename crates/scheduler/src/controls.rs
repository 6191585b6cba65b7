use super::Status;
use super::clock::{Clock, StoppedClock};
use super::hold::{Hold, Holds};
use super::queue::Queue;
use executor_core::JobVariable;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::sync::{Arc, Weak};
use thiserror::Error;

/// Tells a pipeline what to do while it runs. All clones speak to the same pipeline.
///
/// Nothing here waits: what becomes of a wish is told by the pipeline's events.
#[derive(Clone, Default)]
pub struct Controls {
    state: Arc<Mutex<State>>,
    pub(super) holds: Arc<Holds>,
    pub(super) clock: Arc<Clock>,
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
    /// The job has not ended, or was skipped.
    #[error("the job {job:?} is {status} and cannot be run again")]
    NotRetryable {
        /// The job.
        job: String,
        /// Where it stands.
        status: Status,
    },
    /// The pipeline is being canceled, so that no job starts any more.
    #[error("the pipeline is being canceled")]
    Canceling,
    /// The job has ended, or will not run.
    #[error("the job {job:?} is {status} and cannot be canceled")]
    NotCancelable {
        /// The job.
        job: String,
        /// Where it stands.
        status: Status,
    },
}

impl ControlError {
    /// Returns what there is instead, or what to do.
    pub fn suggestion(&self) -> Option<String> {
        match self {
            Self::UnknownJob { suggestion, .. } => suggestion.clone(),
            Self::NotRetryable { status, .. } => {
                let what = match status {
                    Status::Skipped => "run again what it waited for, and it is decided anew",
                    Status::Manual | Status::Scheduled => "it can be started, or canceled",
                    Status::Created => "it waits for other jobs",
                    _ => "it can be run again when it has ended",
                };
                Some(what.to_owned())
            }
            _ => None,
        }
    }
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

    /// Runs a job again that has ended, however it ended: it becomes pending, with a further attempt.
    ///
    /// What was skipped behind it is decided anew, as in GitLab; jobs that ran stay as they are. A job
    /// with `trigger` starts another pipeline; one that it had started goes on.
    ///
    /// # Errors
    ///
    /// When there is no such job, it has not ended or was skipped, the pipeline is being canceled, or
    /// does not run. One that has come to its end runs no more: [`hold`](Self::hold) keeps it open.
    pub fn retry(&self, job: &str) -> Result<(), ControlError> {
        self.queue()?.retry(job)
    }

    /// Keeps the pipeline open until the hold is dropped: although all has ended, jobs can be played
    /// and run again.
    ///
    /// A hold can be taken before the pipeline begins; once it has ended it holds nothing. Who stops the
    /// pipeline ends it all the same, and so does its own time. Waiting for a hold does not count as
    /// time that the pipeline took, nor does ending that make its report worse.
    pub fn hold(&self) -> Hold {
        Hold::new(self)
    }

    /// Lets the pipeline's own time stand still until the guard is dropped, such as while somebody sits
    /// in one of its jobs.
    pub fn stop_clock(&self) -> StoppedClock {
        StoppedClock::new(self)
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

    pub(super) fn queue(&self) -> Result<Arc<Queue>, ControlError> {
        match &*self.lock() {
            State::NotBegun => Err(ControlError::NotBegun),
            State::Runs(queue) => queue.upgrade().ok_or(ControlError::Ended),
            State::Ended => Err(ControlError::Ended),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
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
