//! The machine and the reference, compared after every random event.

use super::dice::Dice;
use super::for_each_seed;
use super::pipeline::{SPECIAL_CODE, random_plan};
use super::reference::Reference;
use pipeline::Plan;
use scheduler::Status;
use scheduler::{Finish, Machine, StatusChange};

#[test]
fn machine_agrees_with_the_reference_after_every_event() {
    // R-GLCI-121 R-GLCI-122
    for_each_seed(3_000, |dice| {
        let plan = random_plan(dice, 14);
        compare(&plan, dice);
    });
}

fn compare(plan: &Plan, dice: &mut Dice) {
    let mut course = Course {
        plan,
        machine: Machine::new(plan),
        reference: Reference::new(plan),
        seen: vec![Status::Created; plan.jobs().len()],
        retries: dice.below(4),
    };
    let changes = course.machine.start();
    course.check(&changes, "the start");
    while let Some(job) = course.job_that_can_change(dice) {
        course.confuse(dice);
        if dice.once_in(60) {
            course.reference.cancel();
            let changes = course.machine.cancel();
            course.check(&changes, "a cancel");
            assert_eq!(course.machine.cancel(), [], "after a second cancel");
        } else {
            course.change(job, dice);
        }
    }
    assert!(course.machine.is_finished());
}

struct Course<'p> {
    plan: &'p Plan,
    machine: Machine,
    reference: Reference<'p>,
    /// The statuses according to the reported changes.
    seen: Vec<Status>,
    /// How many retries remain.
    retries: usize,
}

impl Course<'_> {
    /// Returns a job that can change. Manual jobs may never be started.
    fn job_that_can_change(&mut self, dice: &mut Dice) -> Option<usize> {
        use Status::{Canceling, Manual, Pending, Running, Scheduled, WaitingForResource};
        let of = |statuses: &[Status]| -> Vec<usize> {
            (0..self.seen.len())
                .filter(|&job| statuses.contains(&self.seen[job]))
                .collect()
        };
        let goes_on = [WaitingForResource, Pending, Running, Canceling, Scheduled];
        let (manual, others) = (of(&[Manual]), of(&goes_on));
        let ended = of(&[Status::Success, Status::Failed, Status::Canceled]);
        if self.retries > 0 && !ended.is_empty() && (others.is_empty() || dice.once_in(10)) {
            self.retries -= 1;
            return Some(*dice.pick(&ended));
        }
        let may_play = !manual.is_empty() && dice.once_in(3);
        match others.as_slice() {
            _ if may_play => Some(*dice.pick(&manual)),
            [] => None,
            others => Some(*dice.pick(others)),
        }
    }

    /// Feeds inputs that do not fit the status of a job: they have no effect.
    fn confuse(&mut self, dice: &mut Dice) {
        use Status::{Canceling, Manual, Pending, Running, Scheduled, WaitingForResource};
        let job = dice.below(self.seen.len());
        let stands = self.seen[job];
        let machine = &mut self.machine;
        let changes = match dice.below(7) {
            0 if stands != Pending => machine.started(job),
            5 if stands != WaitingForResource => machine.resource_granted(job),
            1 if !matches!(stands, WaitingForResource | Pending | Running | Canceling) => {
                machine.finished(job, Finish::Success)
            }
            2 if stands != Manual => machine.play(job),
            6 if !stands.is_retryable() => machine.retry(job),
            3 if stands != Scheduled => machine.delay_over(job),
            _ => machine.start(),
        };
        assert_eq!(changes, [], "of a job that is {stands}");
    }

    fn change(&mut self, job: usize, dice: &mut Dice) {
        let machine = &mut self.machine;
        let reference = &mut self.reference;
        let (changes, event) = match self.seen[job] {
            Status::Pending if !dice.once_in(8) => {
                reference.run(job);
                (machine.started(job), "a start")
            }
            Status::Scheduled => {
                reference.end_delay(job);
                (machine.delay_over(job), "the end of a delay")
            }
            status if status.is_retryable() => {
                let attempt = machine.attempt(job);
                reference.retry(job);
                let changes = machine.retry(job);
                assert!((attempt..=attempt + 1).contains(&machine.attempt(job)));
                self.check_again(job, &changes);
                return;
            }
            _ if dice.once_in(30) => {
                reference.cancel_job(job);
                (machine.cancel_job(job), "a cancel of one job")
            }
            Status::WaitingForResource => {
                reference.grant(job);
                (machine.resource_granted(job), "a resource group")
            }
            Status::Manual => {
                reference.play(job);
                (machine.play(job), "a play")
            }
            _ => match dice.below(10) {
                0 => {
                    reference.stop(job);
                    (machine.finished(job, Finish::Canceled), "a stop")
                }
                1..=3 => {
                    let exit_code = *dice.pick(&[1, SPECIAL_CODE]);
                    reference.fail(job, exit_code);
                    let finish = Finish::Failed {
                        exit_code: Some(exit_code),
                        reason: Some("script_failure"),
                    };
                    (machine.finished(job, finish), "a failure")
                }
                _ => {
                    reference.succeed(job);
                    (machine.finished(job, Finish::Success), "a success")
                }
            },
        };
        self.check(&changes, event);
    }

    /// Checks the effects of a retry: the job itself comes first.
    fn check_again(&mut self, job: usize, changes: &[StatusChange]) {
        let first = changes[0];
        assert_eq!(first.job, job);
        assert!(is_ready(first.status), "{}", first.status);
        self.seen[job] = first.status;
        self.check(&changes[1..], "a retry");
    }

    fn check(&mut self, changes: &[StatusChange], event: &str) {
        for change in changes {
            let was = std::mem::replace(&mut self.seen[change.job], change.status);
            let legal = is_legal(was, change.status);
            assert!(legal, "{was} to {} after {event}", change.status);
        }
        let is = |job| self.machine.status(job);
        let is: Vec<Status> = (0..self.seen.len()).map(is).collect();
        assert_eq!(is, self.seen, "changes are reported after {event}");
        assert_eq!(is, self.reference.statuses, "after {event}");
        for stage in 0..self.plan.stages().len() {
            let is = self.machine.stage_status(stage);
            assert_eq!(is, self.reference.stage(stage), "stage {stage}");
        }
        let attempts = (0..self.seen.len()).map(|job| self.machine.attempt(job));
        assert!(attempts.eq(self.reference.attempts.iter().copied()));
        assert_eq!(self.machine.pipeline_status(), self.reference.pipeline());
    }
}

/// Returns whether a job in this status is about to run.
pub(super) fn is_ready(status: Status) -> bool {
    matches!(status, Status::Pending | Status::WaitingForResource)
}

/// Returns whether a job may go from one status to the other.
pub(super) fn is_legal(from: Status, to: Status) -> bool {
    use Status::{
        Canceled, Canceling, Created, Failed, Manual, Pending, Running, Scheduled, Skipped,
        Success, WaitingForResource,
    };
    match from {
        Created => matches!(
            to,
            WaitingForResource | Pending | Manual | Scheduled | Skipped | Canceled
        ),
        Manual | Scheduled => matches!(to, WaitingForResource | Pending | Canceled),
        WaitingForResource => matches!(to, Pending | Canceled),
        // An attempt may fail before it runs, and another one may follow.
        Pending => matches!(
            to,
            Running | WaitingForResource | Pending | Success | Failed | Canceled
        ),
        Running => matches!(
            to,
            WaitingForResource | Pending | Success | Failed | Canceling | Canceled
        ),
        Canceling => matches!(to, Success | Failed | Canceled),
        Skipped => to == Created,
        _ => false,
    }
}
