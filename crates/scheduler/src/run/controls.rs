use super::message::{ControlRequest, Message, PipelineKey, Reply};
use crate::Status;
use executor_core::JobVariable;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Controls a pipeline while it runs. All clones control the same pipeline.
///
/// A request is answered as soon as the owner task has handled it; its effects, such as a job that
/// starts, are reported by the pipeline's events.
#[derive(Clone, Default)]
pub struct Controls {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    link: Link,
    /// How many [`Hold`]s there are.
    holds: usize,
    clock: Clock,
}

/// The connection with the owner task of the run.
#[derive(Debug, Default)]
enum Link {
    #[default]
    NotBegun,
    Runs {
        owner: mpsc::UnboundedSender<Message>,
        pipeline: PipelineKey,
    },
    Ended,
}

/// Why a request to a pipeline was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The pipeline has not begun.
    #[error("the pipeline has not begun yet")]
    NotBegun,
    /// The pipeline has ended.
    #[error("the pipeline has ended")]
    Ended,
    /// The pipeline has no such job.
    #[error("the pipeline has no job {job:?}")]
    UnknownJob {
        /// The requested name.
        job: String,
        /// The name of a job that resembles it.
        suggestion: Option<String>,
    },
    /// The job cannot be started by hand in its status.
    #[error("the job {job:?} is {status}: only a manual or delayed job can be started")]
    NotPlayable {
        /// The job.
        job: String,
        /// Its status.
        status: Status,
    },
    /// The job has not ended, or was skipped.
    #[error("the job {job:?} is {status} and cannot be run again")]
    NotRetryable {
        /// The job.
        job: String,
        /// Its status.
        status: Status,
    },
    /// The pipeline is being canceled, so no job starts.
    #[error("the pipeline is being canceled")]
    Canceling,
    /// The job has ended, or will not run.
    #[error("the job {job:?} is {status} and cannot be canceled")]
    NotCancelable {
        /// The job.
        job: String,
        /// Its status.
        status: Status,
    },
}

impl ControlError {
    /// Returns an alternative, or what to do first.
    pub fn suggestion(&self) -> Option<String> {
        match self {
            Self::UnknownJob { suggestion, .. } => suggestion.clone(),
            Self::NotRetryable { status, .. } => {
                let advice = match status {
                    Status::Skipped => "run again what it waited for, and it is decided anew",
                    Status::Manual | Status::Scheduled => "it can be started, or canceled",
                    Status::Created => "it waits for other jobs",
                    _ => "it can be run again when it has ended",
                };
                Some(advice.to_owned())
            }
            _ => None,
        }
    }
}

/// The status of a pipeline and of its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineSnapshot {
    /// The status of the pipeline.
    pub status: Status,
    /// The jobs by stage, within a stage in the order of the file.
    pub jobs: Vec<JobSnapshot>,
}

/// The status of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSnapshot {
    /// Its name.
    pub name: Arc<str>,
    /// Its stage.
    pub stage: Arc<str>,
    /// Its status.
    pub status: Status,
    /// The number of its attempt, from 1.
    pub attempt: u32,
}

impl Controls {
    /// Starts a manual job, or a delayed one before its time, with these variables besides its own.
    ///
    /// # Errors
    ///
    /// When there is no such job, it does not wait to be started, or the pipeline does not run.
    pub async fn play(&self, job: &str, variables: Vec<JobVariable>) -> Result<(), ControlError> {
        let job = job.to_owned();
        self.request(|reply| ControlRequest::Play {
            job,
            variables,
            reply,
        })
        .await
    }

    /// Runs a job again that has ended, with any result: it becomes pending, with a further attempt.
    ///
    /// Skipped jobs behind it are decided anew, as in GitLab; jobs that ran keep their results. A job
    /// with `trigger` starts another pipeline, and a pipeline that it started before continues.
    ///
    /// # Errors
    ///
    /// When there is no such job, it has not ended or was skipped, or the pipeline is being canceled
    /// or does not run. A pipeline does not run after its last job, unless [`hold`](Self::hold)
    /// keeps it open.
    pub async fn retry(&self, job: &str) -> Result<(), ControlError> {
        let job = job.to_owned();
        self.request(|reply| ControlRequest::Retry { job, reply })
            .await
    }

    /// Cancels one job: a running job is stopped, any other will not run.
    ///
    /// # Errors
    ///
    /// When there is no such job, it has ended, or the pipeline does not run.
    pub async fn cancel_job(&self, job: &str) -> Result<(), ControlError> {
        let job = job.to_owned();
        self.request(|reply| ControlRequest::CancelJob { job, reply })
            .await
    }

    /// Cancels the pipeline: all jobs that run or have not run yet.
    ///
    /// # Errors
    ///
    /// When the pipeline does not run.
    pub async fn cancel(&self) -> Result<(), ControlError> {
        self.request(|reply| ControlRequest::Cancel { reply }).await
    }

    /// Returns the status of the pipeline and of its jobs.
    ///
    /// # Errors
    ///
    /// When the pipeline does not run.
    pub async fn status(&self) -> Result<PipelineSnapshot, ControlError> {
        self.request(|reply| ControlRequest::Status { reply }).await
    }

    /// Keeps the pipeline open until the hold is dropped: after all jobs have ended, jobs can still be
    /// started and run again.
    ///
    /// A hold can be taken before the pipeline begins; it has no effect on a pipeline that has ended. A
    /// cancel and the time limit end a pipeline in spite of its holds. The time in which only a hold
    /// keeps the pipeline open is not part of its duration, and ending that time does not change its
    /// result.
    pub fn hold(&self) -> Hold {
        self.state.lock().holds += 1;
        Hold {
            controls: self.clone(),
        }
    }

    /// Stops the clock of the pipeline's time limit until the guard is dropped, such as while the user
    /// works in a shell inside a job.
    pub fn stop_clock(&self) -> StoppedClock {
        self.state.lock().clock.stop(Instant::now());
        self.recheck();
        StoppedClock {
            controls: self.clone(),
        }
    }

    async fn request<T>(
        &self,
        request: impl FnOnce(Reply<T>) -> ControlRequest,
    ) -> Result<T, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.send(request(reply))?;
        // The owner task drops a request that came too late.
        answer.await.unwrap_or(Err(ControlError::Ended))
    }

    fn send(&self, request: ControlRequest) -> Result<(), ControlError> {
        match &self.state.lock().link {
            Link::NotBegun => Err(ControlError::NotBegun),
            Link::Ended => Err(ControlError::Ended),
            Link::Runs { owner, pipeline } => {
                let pipeline = *pipeline;
                let sent = owner.send(Message::Control { pipeline, request });
                sent.map_err(|_| ControlError::Ended)
            }
        }
    }

    /// Makes the owner task look at the holds and the clock again.
    fn recheck(&self) {
        // Without a running pipeline they are looked at when it begins.
        let _ = self.send(ControlRequest::Recheck);
    }

    /// Sends all requests to this pipeline from now on.
    pub(super) fn attach(&self, owner: mpsc::UnboundedSender<Message>, pipeline: PipelineKey) {
        self.state.lock().link = Link::Runs { owner, pipeline };
    }

    /// Refuses all requests from now on.
    pub(super) fn detach(&self) {
        self.state.lock().link = Link::Ended;
    }

    /// Refuses all requests from now on, unless the pipeline is held; returns whether it does.
    pub(super) fn detach_unless_held(&self) -> bool {
        let mut state = self.state.lock();
        if state.holds == 0 {
            state.link = Link::Ended;
        }
        state.holds == 0
    }

    /// Returns the time at which a deadline passes, by the pipeline's clock; `None` while the clock
    /// stands still, or when no clock reaches the deadline.
    pub(super) fn postponed(&self, deadline: Instant) -> Option<Instant> {
        self.state.lock().clock.postponed(deadline)
    }
}

impl fmt::Debug for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.lock().link {
            Link::NotBegun => "not begun",
            Link::Runs { .. } => "runs",
            Link::Ended => "ended",
        };
        f.debug_tuple("Controls").field(&state).finish()
    }
}

/// Keeps a pipeline open until it is dropped; see [`Controls::hold`].
#[derive(Debug)]
#[must_use = "the pipeline is open only until this is dropped"]
pub struct Hold {
    controls: Controls,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.controls.state.lock().holds -= 1;
        self.controls.recheck();
    }
}

/// Stops the clock of a pipeline's time limit until it is dropped; see [`Controls::stop_clock`].
#[derive(Debug)]
#[must_use = "the clock stands still only until this is dropped"]
pub struct StoppedClock {
    controls: Controls,
}

impl Drop for StoppedClock {
    fn drop(&mut self) {
        self.controls.state.lock().clock.start(Instant::now());
        self.controls.recheck();
    }
}

/// The time that does not count for a pipeline's time limit.
#[derive(Debug, Default)]
struct Clock {
    /// How many guards stop the clock.
    stops: usize,
    /// When the clock was stopped, while it stands still.
    stopped_at: Option<Instant>,
    /// How long it stood still before that.
    stopped_for: Duration,
}

impl Clock {
    fn stop(&mut self, now: Instant) {
        self.stops += 1;
        self.stopped_at.get_or_insert(now);
    }

    fn start(&mut self, now: Instant) {
        self.stops -= 1;
        if self.stops == 0
            && let Some(stopped_at) = self.stopped_at.take()
        {
            self.stopped_for += now.duration_since(stopped_at);
        }
    }

    fn postponed(&self, deadline: Instant) -> Option<Instant> {
        match self.stopped_at {
            Some(_) => None,
            None => deadline.checked_add(self.stopped_for),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_moves_by_the_time_the_clock_stood_still() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut clock = Clock::default();
        assert_eq!(clock.postponed(at(10)), Some(at(10)));
        clock.stop(at(1));
        clock.stop(at(2));
        assert_eq!(clock.postponed(at(10)), None);
        clock.start(at(4));
        assert_eq!(clock.postponed(at(10)), None);
        clock.start(at(6));
        assert_eq!(clock.postponed(at(10)), Some(at(15)));
        clock.stop(at(7));
        clock.start(at(8));
        assert_eq!(clock.postponed(at(10)), Some(at(16)));
    }
}
