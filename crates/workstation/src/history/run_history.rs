//! What the journal of a run tells.

use super::continuation::ContinuationKind;
use super::line::{Line, PlannedJob};
use executor_core::{FailureReason, JobId, JobProducts, ReusedFrom, TestTotals};
use indexmap::IndexMap;
use jiff::Timestamp;
use scheduler::Status;
use std::time::Duration;

/// What the journal of a run tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunHistory {
    /// How many attempts the run had: one, and one more for each time it was continued.
    pub attempts: u32,
    /// How somebody went on with it the last time.
    pub continued: Option<ContinuationKind>,
    /// The process that ran it last.
    pub pid: Option<u32>,
    /// The commit it ran for the last time.
    pub sha: String,
    /// When it was begun the last time.
    pub begun_at: Option<Timestamp>,
    /// When the last thing happened that is known.
    pub last_at: Option<Timestamp>,
    /// How it ended; `None` while it lives, and when it was killed.
    pub end: Option<RunEnd>,
    /// How many lines were no such thing, or those of another run.
    pub damaged: usize,
    pub(super) jobs: IndexMap<String, JobHistory>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// The status it came to.
    pub status: Status,
    /// The exit code of the program.
    pub exit_code: u8,
    /// How long it took.
    pub duration: Duration,
}

/// What is known of a job of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that are independent of each other"
)]
pub struct JobHistory {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: String,
    /// Its id, which it keeps however often somebody goes on with the run.
    pub id: JobId,
    /// Where it stood last.
    pub status: Status,
    /// In which attempt of the run it ran last, from 1; 0 when it never ran.
    pub run_attempt: u32,
    /// How many attempts of the job started in it.
    pub attempts: u32,
    /// The exit code of the last attempt that ended.
    pub exit_code: Option<i32>,
    /// Why that did not succeed.
    pub failure_reason: Option<FailureReason>,
    /// Whether its failure lets the pipeline pass.
    pub allow_failure: bool,
    /// How long those took.
    pub duration: Duration,
    /// The figure that `coverage` found in its log.
    pub coverage: Option<f64>,
    /// What its junit reports told.
    pub tests: Option<TestTotals>,
    /// Where its end comes from, when its last attempt did not run.
    pub reused: Option<ReusedFrom>,
    /// The variables that `parallel:matrix` gave it; empty for any other job.
    pub matrix: Vec<(String, String)>,
    /// Whether it is part of what ran last.
    pub is_planned: bool,
    /// Whether somebody started it by hand.
    pub(super) was_played: bool,
    /// Whether it had ended before, and is to run again.
    pub(super) is_again: bool,
    /// Since when it stands there.
    pub(super) since: Option<Timestamp>,
    /// Whether the end of its last attempt is known.
    has_ended: bool,
    /// A fingerprint of what the file said of it.
    definition: u64,
}

impl RunHistory {
    /// Reads the journal of a run. What is behind the last line's end was not finished, and is no line.
    pub(super) fn parse(journal: &[u8], run: u64) -> Self {
        let mut history = Self::default();
        let end = journal.iter().rposition(|&byte| byte == b'\n');
        let whole = journal.get(..end.unwrap_or(0)).unwrap_or_default();
        for line in whole
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            match serde_json::from_slice::<Line<'_>>(line) {
                Ok(line) if line.pipeline.is_none_or(|it| it == run) => history.take(line),
                _ => history.damaged += 1,
            }
        }
        history
    }

    /// Returns the jobs of what ran last, in the order of the plan.
    pub fn planned(&self) -> impl Iterator<Item = &JobHistory> {
        self.jobs.values().filter(|job| job.is_planned)
    }

    /// Returns those of them that have run to their end.
    pub fn finished(&self) -> impl Iterator<Item = &JobHistory> {
        self.planned().filter(|job| job.is_finished())
    }

    /// Returns the job of this name, also when it is no longer planned.
    pub fn job(&self, name: &str) -> Option<&JobHistory> {
        self.jobs.get(name)
    }

    /// Returns all jobs there ever were.
    pub(super) fn all(&self) -> impl Iterator<Item = &JobHistory> {
        self.jobs.values()
    }

    fn take(&mut self, entry: Line<'_>) {
        self.last_at = entry.at.or(self.last_at);
        match &*entry.kind {
            "run_begun" => self.begin(entry),
            "job_status" => {
                let run_attempt = self.attempts;
                if let (Some(job), Some(status)) = (self.jobs.get_mut(&*entry.job), entry.status) {
                    job.come_to(status, &entry, run_attempt);
                }
            }
            "job_finished" => {
                if let Some(job) = self.jobs.get_mut(&*entry.job) {
                    job.end(entry);
                }
            }
            "pipeline_done" => {
                self.end = entry.status.map(|status| RunEnd {
                    status,
                    exit_code: entry
                        .exit_code
                        .and_then(|code| code.try_into().ok())
                        .unwrap_or_default(),
                    duration: Duration::from_millis(entry.duration_ms),
                });
            }
            _ => {}
        }
    }

    fn begin(&mut self, line: Line<'_>) {
        self.attempts += 1;
        self.continued = line.continues;
        self.pid = line.pid;
        self.sha = line.sha.unwrap_or_default();
        self.begun_at = line.at;
        self.end = None;
        let mut known = std::mem::take(&mut self.jobs);
        for planned in line.plan {
            let job = match known.shift_remove(&*planned.job) {
                Some(job) => job.planned_again(planned),
                None => JobHistory::new(planned),
            };
            self.jobs.insert(job.name.clone(), job);
        }
        // Their ids stay theirs.
        for mut gone in known.into_values() {
            gone.is_planned = false;
            self.jobs.insert(gone.name.clone(), gone);
        }
    }
}

impl JobHistory {
    /// Returns whether it ran to its end, and was not told to stop.
    pub fn is_finished(&self) -> bool {
        self.has_ended && matches!(self.status, Status::Success | Status::Failed)
    }

    /// Returns what it left, as far as the journal knows.
    pub(crate) fn products(&self) -> JobProducts {
        JobProducts {
            tests: self.tests.clone(),
            coverage: self.coverage,
            ..JobProducts::default()
        }
    }

    /// Returns whether the file says something else of it now.
    pub(super) fn has_changed(&self, now: u64) -> bool {
        self.definition != now
    }

    fn new(planned: PlannedJob<'_>) -> Self {
        Self {
            name: planned.job.into_owned(),
            stage: planned.stage.into_owned(),
            id: planned.id,
            status: Status::Created,
            run_attempt: 0,
            attempts: 0,
            exit_code: None,
            failure_reason: None,
            allow_failure: false,
            duration: Duration::ZERO,
            coverage: None,
            tests: None,
            reused: None,
            is_planned: true,
            was_played: false,
            is_again: false,
            since: None,
            has_ended: false,
            definition: planned.definition,
            matrix: planned.matrix.into_owned(),
        }
    }

    fn planned_again(self, planned: PlannedJob<'_>) -> Self {
        Self {
            stage: planned.stage.into_owned(),
            id: planned.id,
            is_planned: true,
            definition: planned.definition,
            matrix: planned.matrix.into_owned(),
            ..self
        }
    }

    /// Returns whether it was about to run, ran, or waited for its time.
    pub(super) fn has_begun(&self) -> bool {
        self.status.is_active() || (self.status.is_final() && self.has_run() && !self.has_ended)
    }

    /// Returns whether any attempt of it was begun.
    pub(super) fn has_run(&self) -> bool {
        self.run_attempt > 0
    }

    fn come_to(&mut self, status: Status, entry: &Line<'_>, run_attempt: u32) {
        self.was_played |= self.status == Status::Manual && status.is_active();
        self.is_again = status.is_active() && (self.is_again || self.status.is_final());
        self.since = entry.at;
        let begins = status == Status::Running;
        if begins && self.run_attempt != run_attempt {
            self.run_attempt = run_attempt;
            self.duration = Duration::ZERO;
        }
        if begins {
            self.attempts = entry.attempt;
        }
        if !status.is_final() {
            self.has_ended = false;
        }
        self.status = status;
    }

    fn end(&mut self, line: Line<'_>) {
        self.has_ended = true;
        self.attempts = line.attempt;
        self.exit_code = line.exit_code;
        self.failure_reason = line.failure_reason;
        self.allow_failure = line.allow_failure;
        self.duration += Duration::from_millis(line.duration_ms);
        self.coverage = line.coverage;
        self.tests = line.tests;
        self.reused = line.reused;
    }
}
