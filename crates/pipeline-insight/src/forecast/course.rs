use super::path::{self, AT_ONCE};
use executor_core::PipelineId;
use jiff::Timestamp;
use pipeline::plan::Plan;
use scheduler::CriticalStep;
use scheduler::Status;
use scheduler::event::{EventKind, PipelineEvent};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// When what happened in a run, as its events tell it, or as it will happen.
#[derive(Debug, Clone, Default)]
pub struct Course {
    jobs: Arc<Jobs>,
    pipeline: Option<PipelineId>,
    begun: Option<Timestamp>,
    spans: Vec<Span>,
    /// The jobs in the order of their ends.
    ends: Vec<usize>,
}

/// What does not change.
#[derive(Debug, Default)]
struct Jobs {
    names: Vec<Arc<str>>,
    places: HashMap<Arc<str>, usize>,
}

/// What happened to one job, and when.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// When it was known that it runs, or waits for its delay or for somebody.
    pub decided: Option<Moment>,
    /// When nothing but a worker or its resource group kept it from starting.
    pub ready: Option<Moment>,
    /// When its first attempt began.
    pub started: Option<Moment>,
    /// When its last attempt ended.
    pub ended: Option<Moment>,
}

/// A time, and how many jobs had ended by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub at: Timestamp,
    /// How many ends came before.
    pub(super) ended_before: usize,
}

impl Moment {
    /// Returns how much later this is than another one; nothing when it is not.
    pub(super) fn since(self, other: Self) -> Duration {
        between(other.at, self.at)
    }
}

/// Returns the time from one moment to a later one.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

impl Course {
    /// Returns the course of a plan of which nothing has happened.
    pub fn new(plan: &Plan) -> Self {
        Self {
            pipeline: Some(plan.id()),
            ..Self::of_jobs(plan.jobs().iter().map(|job| job.name().into()))
        }
    }

    /// Returns the course that events tell of, which may be those of a past run. The first pipeline that
    /// begins in them counts.
    pub fn of_events<'e>(events: impl IntoIterator<Item = &'e PipelineEvent>) -> Self {
        let mut course = Self::default();
        events.into_iter().for_each(|event| course.note(event));
        course
    }

    fn of_jobs(names: impl Iterator<Item = Arc<str>>) -> Self {
        let names: Vec<Arc<str>> = names.collect();
        let places = names.iter().enumerate();
        let places = places.map(|(at, name)| (Arc::clone(name), at)).collect();
        Self {
            spans: vec![Span::default(); names.len()],
            jobs: Arc::new(Jobs { names, places }),
            ..Self::default()
        }
    }

    /// Takes note of an event. Those of other pipelines, and those that tell of no status, are no matter.
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
                // One that is gone on with begins again; what ran before is not part of it.
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
                if let Some(index) = self.place(job) {
                    self.come_to(index, *status, event.at);
                }
            }
            _ => {}
        }
    }

    /// Notes that a job has come to another status.
    pub(super) fn come_to(&mut self, index: usize, status: Status, at: Timestamp) {
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
                    // Somebody made it run again; a further attempt comes at once.
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

    /// Returns when the run began, by the first of its events.
    pub fn begun(&self) -> Option<Timestamp> {
        self.begun
    }

    /// Notes when it begins.
    pub(super) fn begin(&mut self, at: Timestamp) {
        self.begun.get_or_insert(at);
    }

    /// Returns the place of a job.
    pub fn place(&self, job: &str) -> Option<usize> {
        self.jobs.places.get(job).copied()
    }

    /// Returns the name of the job at a place.
    pub(super) fn name(&self, index: usize) -> &Arc<str> {
        &self.jobs.names[index]
    }

    pub(super) fn pipeline(&self) -> Option<PipelineId> {
        self.pipeline
    }

    /// Returns when each job ran, by its place.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Returns the chain of jobs that decided how long it took until the last of them had ended, the
    /// first one first; empty before one has.
    pub fn critical_path(&self) -> Vec<CriticalStep> {
        path::critical(self)
    }
}
