//! Pipelines that are interrupted after any line of their journal, and restored.

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
fn restored_pipeline_continues_from_any_journal_line() {
    for_each_seed(1_500, |dice| {
        let plan = random_plan(dice, 12);
        let mut run = Run::new(&plan);
        while run.advance(dice) {}
        run.check_all_interruptions();
    });
}

/// A line of the journal.
#[derive(Debug, Clone)]
enum Line {
    Status(StatusChange),
    Finished(usize, FinishedJob),
}

/// An input for one job.
#[derive(Debug, Clone, Copy)]
enum Input {
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

/// One run of a pipeline, with the machine after each input.
struct Run<'p> {
    plan: &'p Plan,
    machine: Machine,
    journal: Vec<Line>,
    inputs: Vec<(usize, Input)>,
    /// The length of the journal and the machine after each input, the start first.
    after: Vec<(usize, Machine)>,
}

impl<'p> Run<'p> {
    fn new(plan: &'p Plan) -> Self {
        let mut machine = Machine::new(plan);
        let journal: Vec<Line> = machine.start().into_iter().map(Line::Status).collect();
        Self {
            plan,
            after: vec![(journal.len(), machine.clone())],
            machine,
            journal,
            inputs: Vec::new(),
        }
    }

    fn advance(&mut self, dice: &mut Dice) -> bool {
        let jobs = 0..self.plan.jobs().len();
        let possible: Vec<(usize, Vec<Input>)> = jobs
            .map(|job| (job, inputs(self.machine.status(job), dice)))
            .filter(|(_, inputs)| !inputs.is_empty())
            .collect();
        // Manual jobs may never be started.
        if possible.is_empty() || (self.machine.is_finished() && dice.once_in(2)) {
            return false;
        }
        let (job, inputs) = dice.pick(&possible);
        let input = *dice.pick(inputs);
        let attempt = self.machine.attempt(*job);
        let mut changes = feed(&mut self.machine, *job, input).into_iter();
        if let Some(mut end) = end_of(input, attempt) {
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
        self.inputs.push((*job, input));
        self.after.push((self.journal.len(), self.machine.clone()));
        true
    }

    fn check_all_interruptions(&self) {
        let mut progress = RunProgress::default();
        for (at, line) in self.journal.iter().enumerate() {
            note(&mut progress, self.plan, line);
            let is_end = matches!(line, Line::Status(change) if change.status.is_final());
            if is_end && matches!(self.journal.get(at + 1), Some(Line::Finished(..))) {
                // The result is not in the journal yet, so the job runs again.
                continue;
            }
            let input = self.after.partition_point(|(length, _)| *length <= at);
            self.check_interruption(&progress, input);
        }
    }

    /// Continues from a progress that ends within the effects of this input.
    fn check_interruption(&self, progress: &RunProgress, input: usize) {
        let mut machine = Machine::restore(self.plan, progress);
        machine.start();
        let mut expect = self.after[input].1.clone();
        for job in 0..self.plan.jobs().len() {
            let (is, was) = (machine.status(job), expect.status(job));
            assert_eq!(is, restored(self.plan, job, was), "{job} was {was}");
            // A job that was canceled between two attempts had begun one attempt less.
            if was != Status::Canceled {
                assert_eq!(machine.attempt(job), expect.attempt(job), "{job}");
            }
            // A job that was on its way gets the status that it had.
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
        // From then on both agree.
        for &(job, input) in &self.inputs[input..] {
            agree(self.plan, &machine, &expect);
            feed(&mut machine, job, input);
            feed(&mut expect, job, input);
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

/// Returns the restored status of a job: a job that was on its way begins again.
fn restored(plan: &Plan, job: usize, status: Status) -> Status {
    use Status::{Canceling, Pending, Running, WaitingForResource};
    let is_grouped = plan.jobs()[job].definition.resource_group.is_some();
    match status {
        Pending | Running | Canceling if is_grouped => WaitingForResource,
        Running | Canceling => Pending,
        status => status,
    }
}

fn inputs(status: Status, dice: &mut Dice) -> Vec<Input> {
    let mut inputs = match status {
        Status::WaitingForResource => vec![Input::Grant],
        Status::Pending => vec![Input::Begin],
        Status::Running => {
            let fail = Input::Fail(*dice.pick(&[1, SPECIAL_CODE]));
            vec![Input::Succeed, Input::Succeed, fail, Input::Stop]
        }
        Status::Canceling => return vec![Input::Stop, Input::Succeed],
        Status::Manual => vec![Input::Play],
        Status::Scheduled => vec![Input::EndDelay],
        status if status.is_retryable() && dice.once_in(40) => return vec![Input::Retry],
        _ => return Vec::new(),
    };
    if dice.once_in(12) {
        inputs.push(Input::Cancel);
    }
    inputs
}

fn feed(machine: &mut Machine, job: usize, input: Input) -> Vec<StatusChange> {
    match input {
        Input::Begin => machine.started(job),
        Input::Grant => machine.resource_granted(job),
        Input::EndDelay => machine.delay_over(job),
        Input::Play => machine.play(job),
        Input::Retry => machine.retry(job),
        Input::Cancel => machine.cancel_job(job),
        Input::Succeed => machine.finished(job, Finish::Success),
        Input::Stop => machine.finished(job, Finish::Canceled),
        Input::Fail(code) => {
            let finish = Finish::Failed {
                exit_code: Some(code),
                reason: Some("script_failure"),
            };
            machine.finished(job, finish)
        }
    }
}

/// Returns the result of an attempt in the journal.
fn end_of(input: Input, attempts: u32) -> Option<FinishedJob> {
    let (status, exit_code, failure_reason) = match input {
        Input::Succeed => (Status::Success, Some(0), None),
        Input::Stop => (Status::Canceled, None, Some(FailureReason::JobCanceled)),
        Input::Fail(code) => (
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

/// Applies a line of the journal to the progress.
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
                    let mut end = end_of(Input::Stop, 0).unwrap();
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
