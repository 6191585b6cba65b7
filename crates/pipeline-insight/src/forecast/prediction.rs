use super::course::{Course, Span, between};
use super::simulation::{Expected, RunState, Simulation};
use jiff::Timestamp;
use pipeline::config::parse_duration;
use pipeline::plan::Plan;
use scheduler::event::{EventKind, PipelineEvent};
use scheduler::{CriticalStep, Machine, Status};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

/// Predicts how long a run will take from the usual durations of its jobs.
///
/// It follows the run's events and simulates the rest by the pipeline's rules: stages, needs,
/// workers, resource groups and delays. It expects every job to succeed at its first attempt. A
/// manual job that has not been started does not run, nor do jobs that wait for it.
#[derive(Debug, Clone)]
pub struct Forecast {
    run: RunState,
    /// The last prediction, until an event changes it.
    known: Option<Prediction>,
}

/// The expected rest of a run, at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// The total duration of the run.
    pub total: Duration,
    /// The remaining duration.
    pub left: Duration,
    /// When it ends.
    pub end: Timestamp,
    /// The indices of current and future jobs whose duration is unknown; they count as taking no
    /// time.
    pub unknown: Vec<usize>,
    /// The indices of running jobs that already exceed their usual duration; they count as ending
    /// now.
    pub late: Vec<usize>,
    /// When each job became or becomes ready, started and ended, by its index.
    pub jobs: Vec<Span>,
    /// The critical path, the first job first.
    pub path: Vec<CriticalStep>,
}

impl Outlook {
    /// Returns whether the durations are lower bounds, because some jobs are unknown or late.
    pub fn is_at_least(&self) -> bool {
        !self.unknown.is_empty() || !self.late.is_empty()
    }
}

/// The result of simulating the rest.
#[derive(Debug, Clone)]
struct Prediction {
    outlook: Option<Outlook>,
    /// When it becomes outdated without an event, because a job takes longer than expected.
    until: Option<Timestamp>,
}

impl Forecast {
    /// Returns the forecast of a plan that has not started; `usual` returns the usual duration of a
    /// job with a name, if it is known.
    pub fn new(plan: &Plan, workers: NonZeroU32, usual: impl Fn(&str) -> Option<Duration>) -> Self {
        let mut groups: HashMap<String, usize> = HashMap::new();
        let jobs = plan.jobs().iter().enumerate().map(|(at, job)| {
            // A name that expands to nothing means no group.
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
        let run = RunState {
            jobs: jobs.collect(),
            machine: Machine::new(plan),
            course: Course::new(plan),
            workers: usize::try_from(workers.get()).unwrap_or(usize::MAX),
            scheduled: HashMap::new(),
            attempts: HashMap::new(),
        };
        Self { run, known: None }
    }

    /// Records an event of the run. Other events, such as lines of logs, are ignored.
    pub fn note(&mut self, event: &PipelineEvent) {
        if self.run.course.pipeline() != Some(event.pipeline) {
            return;
        }
        match &event.kind {
            EventKind::JobStatus {
                job,
                status,
                attempt,
                ..
            } => {
                if let Some(index) = self.run.course.index(job) {
                    self.set_status(index, *status, *attempt, event.at);
                }
            }
            EventKind::JobFinished {
                job, allow_failure, ..
            } => {
                if let Some(index) = self.run.course.index(job) {
                    self.run.machine.forgive(index, *allow_failure);
                }
            }
            EventKind::PipelineStarted { .. } => {}
            _ => return,
        }
        self.run.course.note(event);
        self.known = None;
    }

    fn set_status(&mut self, index: usize, status: Status, attempt: u32, at: Timestamp) {
        self.run.machine.put(index, status, attempt);
        match status {
            Status::Scheduled => drop(self.run.scheduled.insert(index, at)),
            Status::Running => drop(self.run.attempts.insert(index, at)),
            _ => {}
        }
    }

    /// Returns the course so far.
    pub fn course(&self) -> &Course {
        &self.run.course
    }

    /// Returns the outlook; `None` if jobs are left and none of them has a known duration.
    ///
    /// It is cached until the next event.
    pub fn outlook(&mut self, now: Timestamp) -> Option<Outlook> {
        let is_old = |known: &Prediction| known.until.is_some_and(|until| until < now);
        if self.known.as_ref().is_none_or(is_old) {
            self.known = Some(self.predict(now));
        }
        let known = self.known.as_ref()?.outlook.clone();
        known.map(|outlook| Outlook {
            left: between(now, outlook.end),
            ..outlook
        })
    }

    fn predict(&self, now: Timestamp) -> Prediction {
        let begun = self.run.course.begun().unwrap_or(now);
        let simulated = Simulation::new(&self.run, now).run();
        let end = simulated.end;
        let is_unknown = simulated.known == 0 && !simulated.unknown.is_empty();
        let outlook = (!is_unknown).then(|| Outlook {
            total: between(begun, end),
            left: between(now, end),
            end,
            path: simulated.course.critical_path(),
            jobs: simulated.course.spans().to_vec(),
            unknown: simulated.unknown,
            late: simulated.late,
        });
        // Without events, the next change is the first expected end of a job or delay.
        let until = if self.run.course.begun().is_some() {
            simulated.next
        } else {
            Some(now)
        };
        Prediction { outlook, until }
    }
}
