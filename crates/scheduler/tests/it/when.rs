//! The effect of `when` after each result of the predecessors.

use crate::fake::resolve;
use crate::fake::try_plan;
use crate::machine::{STAGES, check};
use executor_core::job::When;
use pipeline::Selection;
use pipeline::context::PipelineContext;
use scheduler::Status;
use scheduler::{Finish, Machine};
use std::sync::Arc;

/// The result of the job before.
#[derive(Debug, Clone, Copy)]
enum Before {
    Success,
    Failed,
    Canceled,
    Skipped,
}

const ALL: [Before; 4] = [
    Before::Success,
    Before::Failed,
    Before::Canceled,
    Before::Skipped,
];

/// Returns the status of a job with this `when` after the one job that it waits for.
fn outcome(when: When, before: Before, waits: &str) -> Status {
    let mut resolved = resolve(&format!(
        "{STAGES}
first: {{stage: one, script: x}}
then: {{stage: two, script: x{waits}}}
"
    ));
    if matches!(before, Before::Skipped) {
        Arc::make_mut(&mut resolved.jobs[0].definition).when = When::Never;
    }
    Arc::make_mut(&mut resolved.jobs[1].definition).when = when;
    let plan = try_plan(&resolved, PipelineContext::default(), &Selection::default());
    let mut machine = Machine::new(&plan.unwrap());
    machine.start();
    match before {
        Before::Success => machine.finished(0, Finish::Success),
        Before::Failed => machine.finished(
            0,
            Finish::Failed {
                exit_code: Some(1),
                reason: Some("script_failure"),
            },
        ),
        Before::Canceled => machine.finished(0, Finish::Canceled),
        Before::Skipped => Vec::new(),
    };
    machine.status(1)
}

#[test]
fn when_and_the_previous_result_decide() {
    // R-PIPE-25 R-GLCI-126
    use Status::{Manual, Pending, Scheduled, Skipped};
    // After success, failure, cancellation; after a skip in an earlier stage, and of a need.
    let table = [
        (
            When::OnSuccess,
            [Pending, Skipped, Skipped, Pending, Skipped],
        ),
        (
            When::OnFailure,
            [Skipped, Pending, Skipped, Skipped, Skipped],
        ),
        (When::Always, [Pending, Pending, Skipped, Pending, Pending]),
        (When::Manual, [Manual, Skipped, Skipped, Manual, Skipped]),
        (
            When::Delayed,
            [Scheduled, Skipped, Skipped, Scheduled, Skipped],
        ),
        (When::Never, [Skipped; 5]),
    ];
    for (when, [success, failed, canceled, by_stage, by_need]) in table {
        for (waits, skipped) in [("", by_stage), (", needs: [first]", by_need)] {
            let expect = [success, failed, canceled, skipped];
            let is = ALL.map(|before| outcome(when, before, waits));
            assert_eq!(is, expect, "{when:?}{waits} after {ALL:?}");
        }
    }
}

#[test]
fn when_is_decided_after_all_predecessors() {
    // R-GLCI-125 R-PIPE-32
    let stages = format!(
        "{STAGES}
a: {{stage: one, script: x}}
b: {{stage: one, script: x}}
rescue: {{stage: two, script: x, when: on_failure}}
"
    );
    check(&stages, "a-", "a=failed b=pending rescue=created | running");
    check(
        &stages,
        "a- b+",
        "a=failed b=success rescue=pending | running",
    );
    check(
        &stages,
        "a+",
        "a=success b=pending rescue=created | running",
    );
    check(
        &stages,
        "a+ b+",
        "a=success b=success rescue=skipped | success",
    );
    let own_need = stages.replace("on_failure}", "on_failure, needs: [a]}");
    check(
        &own_need,
        "a-",
        "a=failed b=pending rescue=pending | running",
    );
    check(
        &own_need,
        "a+",
        "a=success b=pending rescue=skipped | running",
    );
    // Without predecessors there is no failure before it.
    let no_needs = stages.replace("on_failure}", "on_failure, needs: []}");
    check(
        &no_needs,
        "",
        "a=pending b=pending rescue=skipped | pending",
    );
}

#[test]
fn failure_skips_the_jobs_that_wait_for_it() {
    // R-GLCI-124 R-PIPE-33
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x}}
b: {{stage: one, script: x}}
near_a: {{stage: two, script: x, needs: [a]}}
near_b: {{stage: two, script: x, needs: [b]}}
waits: {{stage: three, script: x}}
"
    );
    check(
        &text,
        "a-",
        "a=failed b=pending near_a=skipped near_b=created waits=created | running",
    );
    check(
        &text,
        "a- b+",
        "a=failed b=success near_a=skipped near_b=pending waits=created | running",
    );
    check(
        &text,
        "a- b+ near_b+",
        "a=failed b=success near_a=skipped near_b=success waits=skipped | failed",
    );
}

#[test]
fn job_without_needs_waits_for_all_earlier_stages() {
    // R-PIPE-23 R-PIPE-30
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x}}
b: {{stage: one, script: x}}
quick: {{stage: two, script: x, needs: [a]}}
late: {{stage: three, script: x}}
"
    );
    check(
        &text,
        "a+ quick+",
        "a=success b=pending quick=success late=created | running",
    );
    check(
        &text,
        "a+ b+",
        "a=success b=success quick=pending late=created | running",
    );
    check(
        &text,
        "a+ b+ quick+",
        "a=success b=success quick=success late=pending | running",
    );
}

#[test]
fn only_play_starts_a_manual_job() {
    // R-GLCI-123
    let text = format!(
        "{STAGES}
before: {{stage: one, script: x}}
gate: {{stage: two, script: x, when: manual}}
after: {{stage: three, script: x}}
"
    );
    check(
        &text,
        "before+ gate+ gate- gate! gate~ after+",
        "before=success gate=manual after=success | success",
    );
    check(
        &text,
        "before+ gate>",
        "before=success gate=pending after=pending | running",
    );
}
