use super::course::{Course, between};
use super::outlook::Outlook;
use super::simulation::Simulation;
use jiff::Timestamp;
use pipeline::config::parse_duration;
use pipeline::plan::Plan;
use scheduler::event::{EventKind, PipelineEvent};
use scheduler::{Machine, Status};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Says how long a run will take, from how long its jobs usually do.
///
/// It hears of what happens by the run's events, and plays what is left with the rules of the pipeline
/// itself: stages, needs, workers, resource groups and delays. It counts on every job to succeed at its
/// first attempt. A manual job that nobody has played does not run, nor does what waits for it.
#[derive(Debug, Clone)]
pub struct Forecast {
    pub(super) machine: Machine,
    pub(super) course: Course,
    pub(super) jobs: Arc<[Expected]>,
    pub(super) workers: usize,
    /// When a job was last scheduled.
    pub(super) scheduled: HashMap<usize, Timestamp>,
    /// When the attempt of a job that runs began.
    pub(super) attempts: HashMap<usize, Timestamp>,
    /// What is expected, until something happens that changes it.
    known: Option<Played>,
}

/// What is known beforehand of a job.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) time: Option<Duration>,
    pub(super) delay: Duration,
    pub(super) is_bridge: bool,
    /// The number of its resource group.
    pub(super) group: Option<usize>,
}

/// What playing the rest has led to.
#[derive(Debug, Clone)]
struct Played {
    outlook: Option<Outlook>,
    /// When it has to be played again even if nothing happens: a job takes longer than it should.
    until: Option<Timestamp>,
}

impl Forecast {
    /// Returns the forecast of a plan of which nothing has happened, with so many workers; `usual` says
    /// how long a job of that name usually takes, if that is known.
    pub fn new(plan: &Plan, workers: NonZeroU32, usual: impl Fn(&str) -> Option<Duration>) -> Self {
        let mut groups: HashMap<String, usize> = HashMap::new();
        let jobs = plan.jobs().iter().enumerate().map(|(at, job)| {
            // A name that expands to nothing is no group.
            let group = plan.resource_group(at).filter(|name| !name.is_empty());
            let start_in = job.definition.start_in.as_deref();
            let next = groups.len();
            Expected {
                time: usual(job.name()),
                delay: start_in.and_then(parse_duration).unwrap_or_default(),
                is_bridge: job.is_bridge(),
                group: group.map(|name| *groups.entry(name).or_insert(next)),
            }
        });
        Self {
            jobs: jobs.collect(),
            machine: Machine::new(plan),
            course: Course::new(plan),
            workers: usize::try_from(workers.get()).unwrap_or(usize::MAX),
            scheduled: HashMap::new(),
            attempts: HashMap::new(),
            known: None,
        }
    }

    /// Takes note of an event of the run. Lines of logs and events of other pipelines cost nothing.
    pub fn note(&mut self, event: &PipelineEvent) {
        if self.course.pipeline() != Some(event.pipeline) {
            return;
        }
        match &event.kind {
            EventKind::JobStatus {
                job,
                status,
                attempt,
                ..
            } => {
                if let Some(index) = self.course.place(job) {
                    self.come_to(index, *status, *attempt, event.at);
                }
            }
            EventKind::JobFinished {
                job, allow_failure, ..
            } => {
                if let Some(index) = self.course.place(job) {
                    self.machine.forgive(index, *allow_failure);
                }
            }
            EventKind::PipelineStarted { .. } => {}
            _ => return,
        }
        self.course.note(event);
        self.known = None;
    }

    fn come_to(&mut self, index: usize, status: Status, attempt: u32, at: Timestamp) {
        self.machine.put(index, status, attempt);
        match status {
            Status::Scheduled => drop(self.scheduled.insert(index, at)),
            Status::Running => drop(self.attempts.insert(index, at)),
            _ => {}
        }
    }

    /// Returns what has happened so far.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// Returns what is to be expected; nothing when of no job that is left the time is known, and one is
    /// left.
    ///
    /// It costs little as long as nothing has happened since it was asked for last.
    pub fn outlook(&mut self, now: Timestamp) -> Option<Outlook> {
        let is_old = |known: &Played| known.until.is_some_and(|until| until < now);
        if self.known.as_ref().is_none_or(is_old) {
            self.known = Some(self.play(now));
        }
        let known = self.known.as_ref()?.outlook.clone();
        known.map(|outlook| Outlook {
            left: between(now, outlook.end),
            ..outlook
        })
    }

    fn play(&self, now: Timestamp) -> Played {
        let begun = self.course.begun().unwrap_or(now);
        let played = Simulation::new(self, now).run();
        let end = played.end;
        let says_nothing = played.known == 0 && !played.unknown.is_empty();
        let outlook = (!says_nothing).then(|| Outlook {
            total: between(begun, end),
            left: between(now, end),
            end,
            path: played.course.critical_path(),
            jobs: played.course.spans().to_vec(),
            unknown: played.unknown,
            late: played.late,
        });
        // As long as nothing happens, what happens next is the first end of a job, or of a delay.
        let until = if self.course.begun().is_some() {
            played.next
        } else {
            Some(now)
        };
        Played { outlook, until }
    }
}
