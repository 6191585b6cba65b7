use executor_core::PipelineId;
use jiff::Timestamp;
use pipeline::plan::Plan;
use scheduler::Status;
use scheduler::event::{EventKind, PipelineEvent};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A job that starts within this time has not waited; the end of another job in between is a
/// coincidence.
pub(super) const AT_ONCE: Duration = Duration::from_millis(100);

/// The times of what happened in a run according to its events, or of what is expected to happen.
#[derive(Debug, Clone, Default)]
pub struct Course {
    jobs: Arc<Jobs>,
    pipeline: Option<PipelineId>,
    begun: Option<Timestamp>,
    spans: Vec<Span>,
    /// The jobs in the order of their ends.
    ends: Vec<usize>,
}

/// The constant data of the jobs.
#[derive(Debug, Default)]
struct Jobs {
    names: Vec<Arc<str>>,
    indices: HashMap<Arc<str>, usize>,
}

/// The times of one job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// When it was decided that it runs, waits for its delay or for a manual start.
    pub decided: Option<Moment>,
    /// When it only waited for a worker or its resource group.
    pub ready: Option<Moment>,
    /// When its first attempt started.
    pub started: Option<Moment>,
    /// When its last attempt ended.
    pub ended: Option<Moment>,
}

/// A time, and the number of jobs that had ended by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub at: Timestamp,
    /// The number of earlier ends.
    pub(super) ended_before: usize,
}

impl Moment {
    /// Returns the time since an earlier moment; zero if it is not earlier.
    pub(super) fn since(self, other: Self) -> Duration {
        between(other.at, self.at)
    }
}

/// Returns the duration between two times; zero if the second is earlier.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

impl Course {
    /// Returns the course of a plan that has not started.
    pub fn new(plan: &Plan) -> Self {
        Self {
            pipeline: Some(plan.id()),
            ..Self::of_jobs(plan.jobs().iter().map(|job| job.name().into()))
        }
    }

    /// Returns the course of the first pipeline that starts in these events, which may be those of
    /// a past run.
    pub fn of_events<'e>(events: impl IntoIterator<Item = &'e PipelineEvent>) -> Self {
        let mut course = Self::default();
        events.into_iter().for_each(|event| course.note(event));
        course
    }

    fn of_jobs(names: impl Iterator<Item = Arc<str>>) -> Self {
        let names: Vec<Arc<str>> = names.collect();
        let indices = names.iter().enumerate();
        let indices = indices.map(|(at, name)| (Arc::clone(name), at)).collect();
        Self {
            spans: vec![Span::default(); names.len()],
            jobs: Arc::new(Jobs { names, indices }),
            ..Self::default()
        }
    }

    /// Records an event. Events of other pipelines, and those without a status, are ignored.
    pub fn note(&mut self, event: &PipelineEvent) {
        match &event.kind {
            EventKind::PipelineStarted { jobs, .. } if self.pipeline.is_none() => {
                *self = Self {
                    pipeline: Some(event.pipeline),
                    begun: Some(event.at),
                    ..Self::of_jobs(jobs.iter().cloned())
                };
            }
            EventKind::PipelineStarted { .. } if self.pipeline == Some(event.pipeline) => {
                // A continued run starts again; what ran before is not part of it.
                let jobs = Arc::clone(&self.jobs);
                *self = Self {
                    spans: vec![Span::default(); jobs.names.len()],
                    jobs,
                    pipeline: self.pipeline,
                    begun: Some(event.at),
                    ends: Vec::new(),
                };
            }
            EventKind::JobStatus { job, status, .. } if self.pipeline == Some(event.pipeline) => {
                if let Some(index) = self.index(job) {
                    self.set_status(index, *status, event.at);
                }
            }
            _ => {}
        }
    }

    /// Records the status of a job.
    pub(super) fn set_status(&mut self, index: usize, status: Status, at: Timestamp) {
        let moment = Moment {
            at,
            ended_before: self.ends.len(),
        };
        let Some(span) = self.spans.get_mut(index) else {
            return;
        };
        match status {
            Status::Scheduled | Status::Manual => {
                span.decided.get_or_insert(moment);
            }
            Status::Pending | Status::WaitingForResource => {
                if let Some(ended) = span.ended.take()
                    && moment.since(ended) > AT_ONCE
                {
                    // It was run again by a user; a further attempt would follow at once.
                    *span = Span::default();
                }
                span.decided.get_or_insert(moment);
                span.ready.get_or_insert(moment);
            }
            Status::Running => {
                span.started.get_or_insert(moment);
            }
            status if status.is_final() && span.started.is_some() && span.ended.is_none() => {
                span.ended = Some(moment);
                self.ends.push(index);
            }
            _ => {}
        }
    }

    /// Returns when the run started.
    pub fn begun(&self) -> Option<Timestamp> {
        self.begun
    }

    /// Records when the run starts.
    pub(super) fn begin(&mut self, at: Timestamp) {
        self.begun.get_or_insert(at);
    }

    /// Returns the index of a job.
    pub fn index(&self, job: &str) -> Option<usize> {
        self.jobs.indices.get(job).copied()
    }

    /// Returns the name of a job.
    pub(super) fn name(&self, index: usize) -> &Arc<str> {
        &self.jobs.names[index]
    }

    pub(super) fn pipeline(&self) -> Option<PipelineId> {
        self.pipeline
    }

    /// Returns the times of each job, by its index.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }
}
