use super::continuation::ContinuationKind;
use super::journal_line::{Line, PlannedJob};
use executor_core::{FailureReason, JobId, JobProducts, ReusedFrom, TestTotals};
use indexmap::IndexMap;
use jiff::Timestamp;
use scheduler::Status;
use std::time::Duration;

/// The history of a run, from its journal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunHistory {
    /// How many attempts the run had: one, and one more for each time it was continued.
    pub attempts: u32,
    /// How the last attempt continued it.
    pub continued: Option<ContinuationKind>,
    /// The process of the last attempt.
    pub pid: Option<u32>,
    /// The commit of the last attempt.
    pub sha: String,
    /// When the last attempt started.
    pub begun_at: Option<Timestamp>,
    /// When the last recorded event happened.
    pub last_at: Option<Timestamp>,
    /// How it ended; `None` while it runs, and if it was killed.
    pub end: Option<RunEnd>,
    /// How many lines are damaged or belong to another run.
    pub damaged: usize,
    pub(super) jobs: IndexMap<String, JobHistory>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// Its final status.
    pub status: Status,
    /// The exit code of the program.
    pub exit_code: u8,
    /// How long it took.
    pub duration: Duration,
}

/// The history of a job of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct JobHistory {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: String,
    /// Its id, the same in all attempts of the run.
    pub id: JobId,
    /// Its last status.
    pub status: Status,
    /// In which attempt of the run it ran last, from 1; 0 when it never ran.
    pub run_attempt: u32,
    /// How many attempts of the job started in it.
    pub attempts: u32,
    /// The exit code of its last attempt that ended.
    pub exit_code: Option<i32>,
    /// Why that attempt failed.
    pub failure_reason: Option<FailureReason>,
    /// Whether it may fail.
    pub allow_failure: bool,
    /// How long those took.
    pub duration: Duration,
    /// The coverage from its log.
    pub coverage: Option<f64>,
    /// The totals of its junit reports.
    pub tests: Option<TestTotals>,
    /// The run whose result it reused, if its last attempt did not run.
    pub reused: Option<ReusedFrom>,
    /// Its variables of `parallel:matrix`; empty for other jobs.
    pub matrix: Vec<(String, String)>,
    /// Whether the last attempt's plan has it.
    pub is_planned: bool,
    /// Whether it is a manual job that was played.
    pub(super) was_played: bool,
    /// Whether it runs again after it had ended.
    pub(super) is_again: bool,
    /// When it got its last status.
    pub(super) since: Option<Timestamp>,
    /// Whether the end of its last attempt is known.
    has_ended: bool,
    /// A fingerprint of its definition.
    definition: u64,
}

impl RunHistory {
    /// Parses the journal of a run. An incomplete last line is ignored.
    pub(super) fn parse(journal: &[u8], run: u64) -> Self {
        let mut history = Self::default();
        let end = journal.iter().rposition(|&byte| byte == b'\n');
        let (whole, last) = journal.split_at(end.unwrap_or(0));
        // Killed while it wrote a line, a run leaves the beginning of that line.
        let last = last.trim_ascii_start();
        history.damaged += usize::from(last.first().is_some_and(|&byte| byte != b'{'));
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

    /// Returns the jobs of the last attempt's plan, in its order.
    pub fn planned(&self) -> impl Iterator<Item = &JobHistory> {
        self.jobs.values().filter(|job| job.is_planned)
    }

    /// Returns the jobs of that plan that have finished.
    pub fn finished(&self) -> impl Iterator<Item = &JobHistory> {
        self.planned().filter(|job| job.is_finished())
    }

    /// Returns the job of this name, also of an earlier plan.
    pub fn job(&self, name: &str) -> Option<&JobHistory> {
        self.jobs.get(name)
    }

    /// Returns the jobs of all plans.
    pub(super) fn all(&self) -> impl Iterator<Item = &JobHistory> {
        self.jobs.values()
    }

    /// Returns whether a job would run now, if this ended run is continued in this way.
    pub(super) fn would_run(
        &self,
        job: &JobHistory,
        kind: &ContinuationKind,
        is_played: bool,
    ) -> bool {
        let waits = self.end.is_some_and(|end| end.status == Status::Manual);
        if job.has_run() && kind.wants_again(&job.name, job.status) {
            return true;
        }
        match job.status {
            // A skipped job runs only after another one.
            Status::Success | Status::Failed | Status::Skipped => false,
            // It comes after a manual job.
            Status::Created if waits => false,
            Status::Manual => is_played,
            _ => true,
        }
    }

    fn take(&mut self, entry: Line<'_>) {
        self.last_at = entry.at.or(self.last_at);
        match &*entry.kind {
            "run_begun" => self.begin(entry),
            "job_status" => {
                let run_attempt = self.attempts;
                if let (Some(job), Some(status)) = (self.jobs.get_mut(&*entry.job), entry.status) {
                    job.set_status(status, &entry, run_attempt);
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
        // Kept, since their ids must not be used again.
        for mut gone in known.into_values() {
            gone.is_planned = false;
            self.jobs.insert(gone.name.clone(), gone);
        }
    }
}

impl JobHistory {
    /// Returns whether it succeeded or failed, and was not canceled.
    pub fn is_finished(&self) -> bool {
        self.has_ended && matches!(self.status, Status::Success | Status::Failed)
    }

    /// Returns its results, as far as the journal has them.
    pub(crate) fn products(&self) -> JobProducts {
        JobProducts {
            tests: self.tests.clone(),
            coverage: self.coverage,
            ..JobProducts::default()
        }
    }

    /// Returns whether its definition is different now.
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

    /// Returns whether it was pending, ran, or was delayed.
    pub(super) fn has_begun(&self) -> bool {
        self.status.is_active() || (self.status.is_final() && self.has_run() && !self.has_ended)
    }

    /// Returns whether any attempt of it started.
    pub(super) fn has_run(&self) -> bool {
        self.run_attempt > 0
    }

    fn set_status(&mut self, status: Status, entry: &Line<'_>, run_attempt: u32) {
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
