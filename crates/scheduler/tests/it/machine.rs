//! The state machine: which jobs may start after which inputs.

use crate::fake::plan;
use pipeline::Plan;
use scheduler::{Finish, Machine};

/// Feeds `inputs` to the machine of `text` and compares the statuses of all jobs and the pipeline.
///
/// An input is `job+` (succeeds), `job-` (fails), `job-7` (fails with this code), `job!` (is
/// canceled), `job>` (is played), `job^` (is retried), `job~` (its delay ends) or `!` (the pipeline is
/// canceled).
pub(crate) fn check(text: &str, inputs: &str, expect: &str) {
    let plan = plan(text);
    let mut machine = Machine::new(&plan);
    machine.start();
    for input in inputs.split_whitespace() {
        feed(&mut machine, &plan, input);
    }
    assert_eq!(
        state(&machine, &plan),
        expect,
        "after {inputs:?} in\n{text}"
    );
}

fn feed(machine: &mut Machine, plan: &Plan, input: &str) {
    if input == "!" {
        machine.cancel();
        return;
    }
    let at = input.find(['+', '-', '!', '>', '^', '~']).unwrap();
    let (name, sign) = input.split_at(at);
    let job = plan.position(name).unwrap();
    if matches!(&sign[..1], "+" | "-") {
        machine.started(job);
    }
    let failed = |code: &str| Finish::Failed {
        exit_code: Some(code.parse().unwrap_or(1)),
        reason: Some("script_failure"),
    };
    match &sign[..1] {
        "+" => machine.finished(job, Finish::Success),
        "-" => machine.finished(job, failed(&sign[1..])),
        "!" => machine.finished(job, Finish::Canceled),
        ">" => machine.play(job),
        "^" => machine.retry(job),
        _ => machine.delay_over(job),
    };
}

fn state(machine: &Machine, plan: &Plan) -> String {
    let jobs = plan.jobs().iter().enumerate();
    let jobs: Vec<String> = jobs
        .map(|(at, job)| format!("{}={}", job.name(), machine.status(at)))
        .collect();
    format!("{} | {}", jobs.join(" "), machine.pipeline_status())
}

pub(crate) const STAGES: &str = "stages: [one, two, three]\n";

#[test]
fn stages_wait_for_each_other() {
    // R-GLCI-118 R-PIPE-24
    let text = format!(
        "{STAGES}a: {{stage: one, script: x}}\nb: {{stage: one, script: x}}\nc: {{stage: two, script: x}}\n"
    );
    check(&text, "", "a=pending b=pending c=created | pending");
    check(&text, "a+", "a=success b=pending c=created | running");
    check(&text, "a+ b+", "a=success b=success c=pending | running");
    check(&text, "a+ b+ c+", "a=success b=success c=success | success");
    check(&text, "a- b+", "a=failed b=success c=skipped | failed");
    check(&text, "a! b+", "a=canceled b=success c=skipped | canceled");
}

#[test]
fn when_decides_after_a_failure() {
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x}}
usual: {{stage: two, script: x}}
rescue: {{stage: two, script: x, when: on_failure}}
always: {{stage: three, script: x, when: always}}
"
    );
    check(
        &text,
        "a-",
        "a=failed usual=skipped rescue=pending always=created | running",
    );
    check(
        &text,
        "a- rescue+ always+",
        "a=failed usual=skipped rescue=success always=success | failed",
    );
    check(
        &text,
        "a+ usual+",
        "a=success usual=success rescue=skipped always=pending | running",
    );
    check(
        &text,
        "a!",
        "a=canceled usual=skipped rescue=skipped always=skipped | canceled",
    );
}

#[test]
fn allowed_failure_counts_as_success() {
    // R-PIPE-42
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x, allow_failure: {{exit_codes: [3, 4]}}}}
b: {{stage: two, script: x}}
rescue: {{stage: two, script: x, when: on_failure}}
"
    );
    check(&text, "a-4", "a=failed b=pending rescue=skipped | pending");
    check(
        &text,
        "a-4 b+",
        "a=failed b=success rescue=skipped | success",
    );
    check(&text, "a-1", "a=failed b=skipped rescue=pending | running");
}

#[test]
fn needs_cut_across_stages() {
    // R-GLCI-119 R-GLCI-120 R-PIPE-29
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x}}
b: {{stage: one, script: x}}
c: {{stage: two, script: x, needs: [a]}}
free: {{stage: three, script: x, needs: []}}
same: {{stage: two, script: x, needs: [c]}}
d: {{stage: three, script: x}}
"
    );
    check(
        &text,
        "",
        "a=pending b=pending c=created same=created free=pending d=created | pending",
    );
    check(
        &text,
        "a+",
        "a=success b=pending c=pending same=created free=pending d=created | running",
    );
    check(
        &text,
        "a+ c- free+ b+",
        "a=success b=success c=failed same=skipped free=success d=skipped | failed",
    );
    check(
        &text,
        "b+ free+",
        "a=pending b=success c=created same=created free=success d=created | running",
    );
}

#[test]
fn skipped_need_skips_all_jobs_behind_it() {
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x}}
b: {{stage: one, script: x, needs: [a]}}
c: {{stage: two, script: x, needs: [b]}}
d: {{stage: three, script: x, needs: [c, a]}}
e: {{stage: three, script: x, needs: [c], when: always}}
"
    );
    check(
        &text,
        "a-",
        "a=failed b=skipped c=skipped d=skipped e=pending | running",
    );
}

#[test]
fn manual_job_blocks_unless_its_failure_is_allowed() {
    let ignored = format!(
        "{STAGES}a: {{stage: one, script: x, when: manual}}\nb: {{stage: two, script: x}}\n"
    );
    check(&ignored, "", "a=manual b=pending | pending");
    check(&ignored, "b+", "a=manual b=success | success");
    check(&ignored, "b+ a> a-", "a=failed b=success | success");
    let blocking = ignored.replace("manual", "manual, allow_failure: false");
    check(&blocking, "", "a=manual b=created | manual");
    check(&blocking, "a>", "a=pending b=created | pending");
    check(&blocking, "a> a+ b+", "a=success b=success | success");
    check(&blocking, "a> a-", "a=failed b=skipped | failed");
}

#[test]
fn play_decides_skipped_jobs_again() {
    let text = "
stages: [test, later]
gate: {script: x, when: manual}
near: {script: x, needs: [gate]}
far: {script: x, needs: [near]}
last: {stage: later, script: x, needs: [far]}
";
    check(
        text,
        "",
        "gate=manual near=skipped far=skipped last=skipped | skipped",
    );
    check(
        text,
        "gate>",
        "gate=pending near=created far=created last=created | pending",
    );
    check(
        text,
        "gate> gate+ near+ far+ last+",
        "gate=success near=success far=success last=success | success",
    );
}

#[test]
fn delayed_jobs_are_scheduled() {
    let text = "a: {script: x, when: delayed, start_in: 5 min}\n";
    check(text, "", "a=scheduled | scheduled");
    check(text, "a~", "a=pending | pending");
    check(text, "a~ a~ a+", "a=success | success");
}

#[test]
fn failed_job_is_retried_as_often_as_allowed() {
    let text = "a: {script: x, retry: {max: 2, exit_codes: 7}}\n";
    check(text, "a-7", "a=pending | pending");
    check(text, "a-7 a+", "a=success | success");
    check(text, "a-7 a-7 a-7", "a=failed | failed");
    check(text, "a-7 a-1", "a=failed | failed");
}

#[test]
fn canceled_pipeline_starts_no_job() {
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x, retry: 2}}
b: {{stage: one, script: x, when: manual, allow_failure: false}}
c: {{stage: two, script: x, when: always}}
"
    );
    check(&text, "!", "a=canceled b=canceled c=canceled | canceled");
    check(
        &text,
        "! a+ b>",
        "a=canceled b=canceled c=canceled | canceled",
    );

    let plan = plan(&text);
    let mut machine = Machine::new(&plan);
    machine.start();
    machine.started(0);
    machine.cancel();
    assert_eq!(
        state(&machine, &plan),
        "a=canceling b=canceled c=canceled | canceling"
    );
    assert!(!machine.is_finished());
    // A job that fails while it is canceling is not retried.
    feed(&mut machine, &plan, "a-");
    assert_eq!(
        state(&machine, &plan),
        "a=failed b=canceled c=canceled | failed"
    );
    assert!(machine.is_finished());
}

#[test]
fn bitrab_stops_a_stage_at_its_first_failure() {
    // R-PIPE-41 R-PIPE-43
    let check = check_bitrab;
    let text = "
stages: [one, two]
a: {stage: one, script: x}
b: {stage: one, script: x}
always: {stage: one, script: x, when: always}
later: {stage: two, script: x}
rescue: {stage: two, script: x, when: on_failure}
";
    check(
        text,
        "a-",
        "a=failed b=skipped always=pending later=created rescue=created | running",
    );
    check(
        text,
        "a- always+ rescue+",
        "a=failed b=skipped always=success later=skipped rescue=success | failed",
    );
    let allowed = "
stages: [one, two]
a: {stage: one, script: x, allow_failure: true}
later: {stage: two, script: x}
rescue: {stage: two, script: x, when: on_failure}
needing: {stage: two, script: x, when: on_failure, needs: [a]}
";
    check(
        allowed,
        "a- later+ rescue+",
        "a=failed later=success rescue=success needing=pending | running",
    );
    check(
        allowed,
        "a+ later+",
        "a=success later=success rescue=skipped needing=skipped | success",
    );
}

/// Does the same with a plan in bitrab's dialect.
fn check_bitrab(text: &str, inputs: &str, expect: &str) {
    let plan = Plan::clone(&plan(text)).in_dialect(pipeline::Dialect::Bitrab);
    let mut machine = Machine::new(&plan);
    machine.start();
    for input in inputs.split_whitespace() {
        feed(&mut machine, &plan, input);
    }
    let found = state(&machine, &plan);
    assert_eq!(found, expect, "after {inputs:?} in\n{text}");
}

#[test]
fn bitrab_starts_jobs_in_batches_where_some_have_needs() {
    let text = "
stages: [one, two]
a: {stage: one, script: x}
b: {stage: one, script: x}
quick: {stage: two, script: x, needs: [a]}
last: {stage: two, script: x}
behind: {stage: two, script: x, needs: [quick]}
";
    check_bitrab(
        text,
        "a+",
        "a=success b=pending quick=created last=created behind=created | running",
    );
    // Jobs behind b are in the same batch as jobs behind a.
    check_bitrab(
        text,
        "a+ b+",
        "a=success b=success quick=pending last=pending behind=created | running",
    );
    check_bitrab(
        text,
        "a+ b+ quick+",
        "a=success b=success quick=success last=pending behind=created | running",
    );
    check_bitrab(
        text,
        "a+ b+ quick+ last+ behind+",
        "a=success b=success quick=success last=success behind=success | success",
    );
    // A failure skips only the jobs that wait for it.
    check_bitrab(
        text,
        "a- b+",
        "a=failed b=success quick=skipped last=skipped behind=skipped | failed",
    );
}

#[test]
fn bitrab_finishes_started_jobs_of_a_failed_stage() {
    // R-PIPE-41
    let text = "
a: {script: x}
b: {script: x, retry: 1}
c: {script: x}
hand: {script: x, when: manual, allow_failure: false}
";
    check_bitrab(
        text,
        "b- a-",
        "a=failed b=pending c=skipped hand=manual | running",
    );
    check_bitrab(
        text,
        "a- hand>",
        "a=failed b=skipped c=skipped hand=pending | running",
    );
}

#[test]
fn retry_decides_skipped_jobs_again() {
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x}}
b: {{stage: two, script: x}}
rescue: {{stage: two, script: x, when: on_failure}}
c: {{stage: three, script: x}}
"
    );
    // Jobs that ran keep their results; skipped jobs wait again.
    check(
        &text,
        "a- rescue+ a^",
        "a=pending b=created rescue=success c=created | running",
    );
    check(
        &text,
        "a- rescue+ a^ a+ b+ c+",
        "a=success b=success rescue=success c=success | success",
    );
    // A successful job can be retried, and fail.
    check(
        &text,
        "a+ b+ c+ a^ a-",
        "a=failed b=success rescue=pending c=success | running",
    );
    // A job that fails again has the same effects as before.
    check(
        &text,
        "a- rescue+ a^ a-",
        "a=failed b=skipped rescue=success c=skipped | failed",
    );
    // A job that has not ended cannot be retried.
    check(
        &text,
        "a- a^ a^ b^ rescue^",
        "a=pending b=created rescue=pending c=created | pending",
    );
    check(
        &text,
        "a! a^ a+ b^",
        "a=success b=pending rescue=skipped c=created | running",
    );
}

#[test]
fn retry_resets_the_allowed_failure() {
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x, allow_failure: {{exit_codes: [3]}}}}
b: {{stage: two, script: x}}
c: {{stage: three, script: x, needs: [a]}}
"
    );
    check(&text, "a-3 b+ c+", "a=failed b=success c=success | success");
    check(
        &text,
        "a-3 b+ c+ a^",
        "a=pending b=success c=success | running",
    );
    check(
        &text,
        "a-3 b+ c+ a^ a-1",
        "a=failed b=success c=success | failed",
    );
}

#[test]
fn attempts_are_counted_when_they_begin() {
    let plan = plan("a: {script: x, retry: 1}\n");
    let mut machine = Machine::new(&plan);
    let mut attempts = |inputs: &str| {
        machine.start();
        inputs
            .split(' ')
            .for_each(|input| feed(&mut machine, &plan, input));
        machine.attempt(0)
    };
    assert_eq!(
        attempts("a! a^"),
        2,
        "a job that ended before it ran has begun its attempt"
    );
    assert_eq!(attempts("a+ a^"), 3);
    // Only its first attempt is retried without a request.
    assert_eq!(attempts("a- a^"), 4);
}
