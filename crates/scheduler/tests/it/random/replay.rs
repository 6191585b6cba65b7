//! The events of a driver, replayed with the reference.

use super::machine::{is_legal, is_ready};
use super::reference::Reference;
use pipeline::Plan;
use pipeline::config::parse_duration;
use scheduler::event::EventKind;
use scheduler::{PipelineReport, Status};
use std::time::Duration;
use tokio::time::Instant;

/// An event with its time.
#[derive(Debug)]
pub(super) struct TimedEvent {
    pub(super) at: Instant,
    pub(super) seq: u64,
    pub(super) kind: EventKind,
}

/// Replays a run: causes are fed to the reference, which must agree with all events until the next
/// cause.
pub(super) struct Replay<'p> {
    plan: &'p Plan,
    concurrency: usize,
    reference: Reference<'p>,
    /// The statuses according to the reported changes.
    seen: Vec<Status>,
    delayed_since: Vec<Option<Instant>>,
    is_canceled: bool,
}

impl<'p> Replay<'p> {
    pub(super) fn new(plan: &'p Plan, concurrency: usize) -> Self {
        let count = plan.jobs().len();
        Self {
            plan,
            concurrency,
            reference: Reference::new(plan),
            seen: vec![Status::Created; count],
            delayed_since: vec![None; count],
            is_canceled: false,
        }
    }

    pub(super) fn check(mut self, events: &[TimedEvent], report: &PipelineReport) {
        let numbers: Vec<u64> = events.iter().map(|events| events.seq).collect();
        assert!(numbers.into_iter().eq(1..=events.len() as u64));
        let mut last = events[0].at;
        for event in events {
            if event.at > last {
                self.check_eagerness();
                last = event.at;
            }
            self.replay(event);
        }
        self.check_end(events, report);
    }

    /// Checks that no job waits for a free worker while time passes.
    fn check_eagerness(&self) {
        let waits = self.count(&[Status::Pending]) > 0;
        let all_busy = self.busy() == self.concurrency;
        assert!(!waits || all_busy || self.is_canceled, "{:?}", self.seen);
    }

    fn replay(&mut self, events: &TimedEvent) {
        match &events.kind {
            EventKind::JobStatus { job, status, .. } => {
                let job = self.plan.position(job).unwrap();
                self.replay_status(job, *status, events.at);
            }
            EventKind::JobFinished {
                job,
                status,
                exit_code,
                ..
            } => {
                let job = self.plan.position(job).unwrap();
                match status {
                    Status::Success => self.reference.succeed(job),
                    Status::Canceled => self.reference.stop(job),
                    _ => self.reference.fail(job, exit_code.unwrap()),
                }
            }
            _ => {}
        }
    }

    fn replay_status(&mut self, job: usize, status: Status, at: Instant) {
        use Status::{
            Canceled, Canceling, Failed, Pending, Running, Scheduled, Success, WaitingForResource,
        };
        let was = self.seen[job];
        let again = was.is_retryable() && is_ready(status);
        assert!(is_legal(was, status) || again);
        // An automatic retry follows the end of the attempt, from which the reference knows it.
        if again && !is_ready(self.reference.statuses[job]) {
            self.check_agreement();
            self.reference.retry(job);
        }
        match (was, status) {
            (_, Running) => {
                self.check_agreement();
                let first = self.seen.iter().position(|&status| status == Pending);
                assert_eq!(first, Some(job), "the first pending job of the plan starts");
                self.reference.run(job);
                assert!(self.busy() < self.concurrency);
            }
            // The end of an attempt; its effects follow.
            (Running | Canceling, Success | Failed | Canceled) => self.check_agreement(),
            (WaitingForResource, Pending) => {
                self.check_agreement();
                self.reference.grant(job);
            }
            (Scheduled, Pending | WaitingForResource) => {
                self.check_agreement();
                let since = self.delayed_since[job].unwrap();
                assert_eq!(at - since, self.delay(job));
                self.reference.end_delay(job);
            }
            (_, Canceling | Canceled) if !self.is_canceled => {
                self.check_agreement();
                self.is_canceled = true;
                self.reference.cancel();
            }
            (_, Scheduled) => self.delayed_since[job] = Some(at),
            _ => {}
        }
        self.seen[job] = status;
        self.check_group();
    }

    /// Checks that at most one job of the resource group is on its way.
    fn check_group(&self) {
        use Status::{Canceling, Pending, Running};
        let jobs = self.plan.jobs().iter().zip(&self.seen);
        let in_it = jobs.filter(|(job, status)| {
            job.definition.resource_group.is_some()
                && matches!(status, Pending | Running | Canceling)
        });
        assert!(in_it.count() <= 1, "{:?}", self.seen);
    }

    fn check_agreement(&self) {
        assert_eq!(self.seen, self.reference.statuses);
    }

    fn check_end(&self, events: &[TimedEvent], report: &PipelineReport) {
        self.check_agreement();
        let reported: Vec<Status> = report.jobs.iter().map(|job| job.status).collect();
        assert_eq!(reported, self.seen);
        assert_eq!(report.status, self.reference.pipeline());
        let done = matches!(&events.last().unwrap().kind, EventKind::PipelineDone { status, exit_code, .. }
            if (*status, *exit_code) == (report.status, report.exit.code()));
        assert!(done, "{:?}", events.last());
        // Remaining jobs wait for a manual job.
        let waits = self.count(&[Status::Created]) > 0;
        assert!(!waits || self.count(&[Status::Manual]) > 0);
        let ended = self.seen.iter().filter(|status| status.is_final()).count();
        let idle = self.count(&[Status::Created, Status::Manual]);
        assert_eq!(ended + idle, self.seen.len(), "{:?}", self.seen);
    }

    fn delay(&self, job: usize) -> Duration {
        let start_in = self.plan.jobs()[job].definition.start_in.as_deref();
        start_in.and_then(parse_duration).unwrap()
    }

    fn busy(&self) -> usize {
        self.count(&[Status::Running, Status::Canceling])
    }

    fn count(&self, statuses: &[Status]) -> usize {
        let seen = self.seen.iter();
        seen.filter(|status| statuses.contains(status)).count()
    }
}
