//! Which jobs may start when, after what happened to others.

use crate::fake::plan;
use pipeline::Plan;
use scheduler::{Finish, Machine};

/// Feeds `inputs` to the machine of `text` and compares where all jobs and the pipeline stand.
///
/// An input is `job+` (succeeds), `job-` (fails), `job-7` (fails with this code), `job!` (is
/// canceled), `job>` (is played), `job^` (is run again), `job~` (its delay is over) or `!` (the pipeline
/// is canceled).
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
fn what_happens_after_a_failure_depends_on_when() {
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
fn an_allowed_failure_counts_as_success() {
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
fn a_skipped_need_skips_the_whole_cone() {
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
fn a_manual_job_blocks_only_if_it_must_succeed() {
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
fn playing_gives_skipped_jobs_behind_another_chance() {
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
fn delayed_jobs_wait_for_their_time() {
    let text = "a: {script: x, when: delayed, start_in: 5 min}\n";
    check(text, "", "a=scheduled | scheduled");
    check(text, "a~", "a=pending | pending");
    check(text, "a~ a~ a+", "a=success | success");
}

#[test]
fn a_retry_makes_a_job_pending_again() {
    let text = "a: {script: x, retry: {max: 2, exit_codes: 7}}\n";
    check(text, "a-7", "a=pending | pending");
    check(text, "a-7 a+", "a=success | success");
    check(text, "a-7 a-7 a-7", "a=failed | failed");
    check(text, "a-7 a-1", "a=failed | failed");
}

#[test]
fn a_canceled_pipeline_starts_nothing_more() {
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
    // A job that is told to stop and fails is not tried again.
    feed(&mut machine, &plan, "a-");
    assert_eq!(
        state(&machine, &plan),
        "a=failed b=canceled c=canceled | failed"
    );
    assert!(machine.is_finished());
}

#[test]
fn bitrab_stops_at_the_first_failure_and_minds_allowed_ones() {
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

/// Feeds a machine of bitrab's dialect, and compares where all stands.
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
    // What b led to is in the batch with what a did.
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
    // A failure stops what needs it, and no others.
    check_bitrab(
        text,
        "a- b+",
        "a=failed b=success quick=skipped last=skipped behind=skipped | failed",
    );
}

#[test]
fn bitrab_lets_go_on_what_has_begun_when_a_stage_stops() {
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
fn a_job_that_has_ended_runs_again_and_what_was_skipped_behind_it_is_decided_anew() {
    let text = format!(
        "{STAGES}
a: {{stage: one, script: x}}
b: {{stage: two, script: x}}
rescue: {{stage: two, script: x, when: on_failure}}
c: {{stage: three, script: x}}
"
    );
    // What ran stays as it is; what was skipped waits again.
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
    // One that succeeded can run again, and fail.
    check(
        &text,
        "a+ b+ c+ a^ a-",
        "a=failed b=success rescue=pending c=success | running",
    );
    // One that fails again leads to the same as before.
    check(
        &text,
        "a- rescue+ a^ a-",
        "a=failed b=skipped rescue=success c=skipped | failed",
    );
    // Not one that has not ended.
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
fn what_a_job_may_fail_with_is_forgotten_when_it_runs_again() {
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
    assert_eq!(attempts("a! a^"), 2, "it had ended, although it never ran");
    assert_eq!(attempts("a+ a^"), 3);
    // By itself it is tried again only when that is its second attempt.
    assert_eq!(attempts("a- a^"), 4);
}
