//! Pipelines that die after any line of their journal, and go on.

use super::dice::Dice;
use super::for_each_seed;
use super::pipeline::{SPECIAL_CODE, random_plan};
use executor_core::FailureReason;
use pipeline::Plan;
use scheduler::Status;
use scheduler::{BegunJob, Finish, FinishedJob, Machine, RunProgress, StatusChange};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_pipeline_that_dies_at_any_line_goes_on_as_if_it_had_not() {
    for_each_seed(1_500, |dice| {
        let plan = random_plan(dice, 12);
        let mut life = Life::new(&plan);
        while life.goes_on(dice) {}
        life.check_all_deaths();
    });
}

/// A line of the journal.
#[derive(Debug, Clone)]
enum Line {
    Status(StatusChange),
    Finished(usize, FinishedJob),
}

/// What somebody or something does with a job.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Begin,
    Grant,
    EndDelay,
    Play,
    Retry,
    Cancel,
    Succeed,
    Stop,
    Fail(i32),
}

/// One run of a pipeline, with the machine as it was after each deed.
struct Life<'p> {
    plan: &'p Plan,
    machine: Machine,
    journal: Vec<Line>,
    deeds: Vec<(usize, Deed)>,
    /// The length of the journal after each deed, the start first, and the machine then.
    after: Vec<(usize, Machine)>,
}

impl<'p> Life<'p> {
    fn new(plan: &'p Plan) -> Self {
        let mut machine = Machine::new(plan);
        let journal: Vec<Line> = machine.start().into_iter().map(Line::Status).collect();
        Self {
            plan,
            after: vec![(journal.len(), machine.clone())],
            machine,
            journal,
            deeds: Vec::new(),
        }
    }

    fn goes_on(&mut self, dice: &mut Dice) -> bool {
        let jobs = 0..self.plan.jobs().len();
        let possible: Vec<(usize, Vec<Deed>)> = jobs
            .map(|job| (job, deeds(self.machine.status(job), dice)))
            .filter(|(_, deeds)| !deeds.is_empty())
            .collect();
        // Manual jobs may be left alone for ever.
        if possible.is_empty() || (self.machine.is_finished() && dice.once_in(2)) {
            return false;
        }
        let (job, deeds) = dice.pick(&possible);
        let deed = *dice.pick(deeds);
        let attempt = self.machine.attempt(*job);
        let mut changes = act(&mut self.machine, *job, deed).into_iter();
        if let Some(mut end) = end_of(deed, attempt) {
            let own = StatusChange {
                job: *job,
                status: end.status,
                attempt,
            };
            if changes.as_slice().first() == Some(&own) {
                changes.next();
            }
            end.allow_failure = self.machine.may_fail(*job);
            self.journal.push(Line::Status(own));
            self.journal.push(Line::Finished(*job, end));
        }
        self.journal.extend(changes.map(Line::Status));
        self.deeds.push((*job, deed));
        self.after.push((self.journal.len(), self.machine.clone()));
        true
    }

    fn check_all_deaths(&self) {
        let mut progress = RunProgress::default();
        for (at, line) in self.journal.iter().enumerate() {
            note(&mut progress, self.plan, line);
            let is_end = matches!(line, Line::Status(change) if change.status.is_final());
            if is_end && matches!(self.journal.get(at + 1), Some(Line::Finished(..))) {
                // The end is not known yet, so the job runs again.
                continue;
            }
            let deed = self.after.partition_point(|(length, _)| *length <= at);
            self.check_death(&progress, deed);
        }
    }

    /// Goes on from the progress, which was left somewhere in what this deed led to.
    fn check_death(&self, progress: &RunProgress, deed: usize) {
        let mut machine = Machine::restore(self.plan, progress);
        machine.start();
        let mut expect = self.after[deed].1.clone();
        for job in 0..self.plan.jobs().len() {
            let (is, was) = (machine.status(job), expect.status(job));
            assert_eq!(is, again(self.plan, job, was), "{job} was {was}");
            // One that was canceled between two attempts had begun one less than it was at.
            if was != Status::Canceled {
                assert_eq!(machine.attempt(job), expect.attempt(job), "{job}");
            }
            // What was on its way goes as far as it was.
            if is != was {
                machine.resource_granted(job);
            }
            if is != was && was != Status::Pending {
                machine.started(job);
            }
            if was == Status::Canceling {
                machine.cancel_job(job);
            }
        }
        // And then both live the same life.
        for &(job, deed) in &self.deeds[deed..] {
            agree(self.plan, &machine, &expect);
            act(&mut machine, job, deed);
            act(&mut expect, job, deed);
        }
        agree(self.plan, &machine, &expect);
    }
}

fn agree(plan: &Plan, one: &Machine, other: &Machine) {
    for job in 0..plan.jobs().len() {
        assert_eq!(one.status(job), other.status(job), "{job}");
        assert_eq!(one.may_fail(job), other.may_fail(job), "{job}");
    }
    for stage in 0..plan.stages().len() {
        assert_eq!(one.stage_status(stage), other.stage_status(stage));
    }
    assert_eq!(one.pipeline_status(), other.pipeline_status());
    assert_eq!(one.is_finished(), other.is_finished());
}

/// Returns where a job stands after a death: what was on its way begins anew.
fn again(plan: &Plan, job: usize, status: Status) -> Status {
    use Status::{Canceling, Pending, Running, WaitingForResource};
    let is_grouped = plan.jobs()[job].definition.resource_group.is_some();
    match status {
        Pending | Running | Canceling if is_grouped => WaitingForResource,
        Running | Canceling => Pending,
        status => status,
    }
}

fn deeds(status: Status, dice: &mut Dice) -> Vec<Deed> {
    let mut deeds = match status {
        Status::WaitingForResource => vec![Deed::Grant],
        Status::Pending => vec![Deed::Begin],
        Status::Running => {
            let fail = Deed::Fail(*dice.pick(&[1, SPECIAL_CODE]));
            vec![Deed::Succeed, Deed::Succeed, fail, Deed::Stop]
        }
        Status::Canceling => return vec![Deed::Stop, Deed::Succeed],
        Status::Manual => vec![Deed::Play],
        Status::Scheduled => vec![Deed::EndDelay],
        status if status.is_retryable() && dice.once_in(40) => return vec![Deed::Retry],
        _ => return Vec::new(),
    };
    if dice.once_in(12) {
        deeds.push(Deed::Cancel);
    }
    deeds
}

fn act(machine: &mut Machine, job: usize, deed: Deed) -> Vec<StatusChange> {
    match deed {
        Deed::Begin => machine.started(job),
        Deed::Grant => machine.resource_granted(job),
        Deed::EndDelay => machine.delay_over(job),
        Deed::Play => machine.play(job),
        Deed::Retry => machine.retry(job),
        Deed::Cancel => machine.cancel_job(job),
        Deed::Succeed => machine.finished(job, Finish::Success),
        Deed::Stop => machine.finished(job, Finish::Canceled),
        Deed::Fail(code) => {
            let finish = Finish::Failed {
                exit_code: Some(code),
                reason: Some("script_failure"),
            };
            machine.finished(job, finish)
        }
    }
}

/// Returns what the journal says of the end of an attempt.
fn end_of(deed: Deed, attempts: u32) -> Option<FinishedJob> {
    let (status, exit_code, failure_reason) = match deed {
        Deed::Succeed => (Status::Success, Some(0), None),
        Deed::Stop => (Status::Canceled, None, Some(FailureReason::JobCanceled)),
        Deed::Fail(code) => (
            Status::Failed,
            Some(code),
            Some(FailureReason::ScriptFailure),
        ),
        _ => return None,
    };
    Some(FinishedJob {
        status,
        attempts,
        exit_code,
        failure_reason,
        duration: Duration::ZERO,
        allow_failure: false,
        products: Arc::default(),
        reused: None,
    })
}

/// Reads a line of the journal, as whoever goes on with a run does.
fn note(progress: &mut RunProgress, plan: &Plan, line: &Line) {
    let name = |job: usize| plan.jobs()[job].name().to_owned();
    match line {
        Line::Finished(job, end) => {
            progress.begun.remove(&name(*job));
            progress.finished.insert(name(*job), end.clone());
        }
        Line::Status(change) => {
            let name = name(change.job);
            let runs = progress
                .begun
                .get(&name)
                .is_some_and(|job| matches!(job.status, Status::Running | Status::Canceling));
            match change.status {
                Status::Success | Status::Failed => {}
                Status::Canceled if runs => {}
                status @ (Status::Skipped | Status::Canceled) => {
                    progress.begun.remove(&name);
                    let mut end = end_of(Deed::Stop, 0).unwrap();
                    end.status = status;
                    end.attempts = change.attempt - 1;
                    end.allow_failure = plan.jobs()[change.job].definition.allow_failure;
                    progress.finished.insert(name, end);
                }
                status => {
                    let had_ended = progress.finished.remove(&name).is_some();
                    let was_again = progress.begun.get(&name).is_some_and(|job| job.again);
                    let mut job = BegunJob::new(status, change.attempt);
                    job.again = status.is_active() && (had_ended || was_again);
                    progress.begun.insert(name, job);
                }
            }
        }
    }
}
