//! Resource groups, retries and failures that cancel a pipeline.

use super::{SECOND, run, sink_of, statuses};
use crate::fake::{Act, FakeRunner, driver, plan, resolve, try_plan};
use executor_core::{CancelCause, Cancellation};
use pipeline::Selection;
use pipeline::context::PipelineContext;
use scheduler::event::EventKind;
use scheduler::{LocalResources, ProcessMode, Redundant, redundant};
use scheduler::{RunExit, Status};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const TAKES: Act = Act::Take(Duration::from_secs(10));

#[tokio::test(start_paused = true)]
async fn jobs_of_a_resource_group_run_one_at_a_time() {
    // R-GLCI-42
    let text = "
variables: {ENV: prod}
one: {script: x, resource_group: $ENV}
two: {script: x, resource_group: prod}
other: {script: x, resource_group: staging}
free: {script: x}
";
    let acts: Vec<(&str, &[Act])> = ["one", "two", "other", "free"]
        .map(|job| (job, &[TAKES][..]))
        .to_vec();
    let (report, runner, sink) = run(text, &acts).await;
    assert_eq!(report.status, Status::Success);
    let (one, two) = (runner.ran("one"), runner.ran("two"));
    assert_eq!(one.ended, two.begun);
    assert_eq!(one.begun, runner.ran("other").begun);
    assert_eq!(one.begun, runner.ran("free").begun);
    let waited = sink.kinds().iter().any(|kind| {
        matches!(kind, EventKind::JobStatus { job, status: Status::WaitingForResource, .. }
            if &**job == "two")
    });
    assert!(waited);
}

#[tokio::test(start_paused = true)]
async fn resource_group_is_released_after_any_result() {
    let text = "
stages: [a, b]
fails: {stage: a, script: x, resource_group: g, retry: 1, allow_failure: true}
hangs: {stage: a, script: x, resource_group: g, allow_failure: true}
waits: {stage: a, script: x, resource_group: g, allow_failure: true}
last: {stage: b, script: x, resource_group: g}
";
    let runner = FakeRunner::new(&[("fails", &[Act::Fail(1)]), ("hangs", &[Act::Hang])]);
    let driver = driver(&runner, &sink_of());
    let cancellation = Cancellation::new();
    let (report, ()) = tokio::join!(driver.run(plan(text), &cancellation), async {
        sleep(SECOND).await;
        driver.controls.cancel_job("waits").await.unwrap();
        driver.controls.cancel_job("hangs").await.unwrap();
    });
    assert_eq!(
        statuses(&report),
        "fails failed, hangs canceled, waits canceled, last success"
    );
    assert_eq!(report.jobs[0].attempts, 2);
}

#[tokio::test(start_paused = true)]
async fn pipelines_share_resource_groups() {
    let modes = HashMap::from([("g".to_owned(), ProcessMode::OldestFirst)]);
    let resources = Arc::new(LocalResources::new(modes));
    let text = "
stages: [a, b]
before: {stage: a, script: x}
grouped: {stage: b, script: x, resource_group: g}
";
    let start = async |id: u64, before: Act| {
        let runner = FakeRunner::new(&[("before", &[before]), ("grouped", &[TAKES])]);
        let mut driver = driver(&runner, &sink_of());
        driver.resources = Arc::clone(&resources) as _;
        let context = PipelineContext {
            id: executor_core::PipelineId(id),
            ..PipelineContext::default()
        };
        let plan = try_plan(&resolve(text), context, &Selection::default()).unwrap();
        let report = driver.run(Arc::new(plan), &Cancellation::new()).await;
        assert_eq!(report.status, Status::Success);
        runner.ran("grouped")
    };
    let (newer, older) = tokio::join!(
        start(8, Act::Succeed),
        start(7, Act::Take(Duration::from_secs(5)))
    );
    assert_eq!(
        older.ended, newer.begun,
        "the newer pipeline waits for the older one"
    );
}

#[tokio::test(start_paused = true)]
async fn on_job_failure_all_cancels_the_pipeline() {
    // R-GLCI-158
    let check = async |workflow: &str, failing: &str, expect: &str, exit: RunExit| {
        let text = format!(
            "{workflow}
stages: [a, b]
fails: {{stage: a, script: x{failing}}}
hangs: {{stage: a, script: x}}
later: {{stage: a, script: x, when: delayed, start_in: 1 day}}
always: {{stage: b, script: x, when: always}}
"
        );
        let runner = FakeRunner::new(&[
            ("fails", &[Act::Fail(1)]),
            ("hangs", &[Act::TakeOrStop(SECOND)]),
        ]);
        let driver = driver(&runner, &sink_of());
        let cancellation = Cancellation::new();
        let (report, ()) = tokio::join!(driver.run(plan(&text), &cancellation), async {
            sleep(Duration::from_secs(20)).await;
            cancellation.cancel(CancelCause::User);
        });
        assert_eq!(statuses(&report), expect, "{text}");
        assert_eq!(report.exit, exit, "{text}");
    };
    let all = "workflow: {auto_cancel: {on_job_failure: all}}";
    let by_rule = "workflow: {rules: [{when: always, auto_cancel: {on_job_failure: all}}]}";
    let stopped = "fails failed, hangs canceled, later canceled, always canceled";
    check(all, "", stopped, RunExit::JobFailed).await;
    check(by_rule, "", stopped, RunExit::JobFailed).await;
    let goes_on = "fails failed, hangs success, later canceled, always canceled";
    check("", "", goes_on, RunExit::Interrupted).await;
    check(all, ", allow_failure: true", goes_on, RunExit::Interrupted).await;
}

#[test]
fn newer_pipeline_cancels_interruptible_jobs() {
    // R-GLCI-158
    let check = |on_new_commit: &str, begun: &[&str], expect: Redundant| {
        let text = format!(
            "workflow: {{auto_cancel: {{on_new_commit: {on_new_commit}}}}}
soft: {{script: x, interruptible: true}}
hard: {{script: x}}
waits: {{script: x, interruptible: true}}
"
        );
        let plan = plan(&text);
        let status = |job: usize| match plan.jobs()[job].name() {
            name if begun.contains(&name) => Status::Running,
            _ => Status::Created,
        };
        assert_eq!(
            redundant(&plan, status),
            expect,
            "{on_new_commit} {begun:?}"
        );
    };
    check("conservative", &[], Redundant::Pipeline);
    check("conservative", &["soft"], Redundant::Pipeline);
    check("conservative", &["soft", "hard"], Redundant::Nothing);
    check("interruptible", &["hard"], Redundant::Jobs(vec![0, 2]));
    check("none", &[], Redundant::Nothing);
}

#[tokio::test(start_paused = true)]
async fn timed_out_job_is_retried_and_a_canceled_one_is_not() {
    let text = "
slow: {script: x, retry: {max: 1, when: job_execution_timeout}}
other: {script: x, retry: {max: 1, when: script_failure}}
canceled: {script: x, retry: 2}
";
    let acts: &[(&str, &[Act])] = &[
        ("slow", &[Act::TimeUp, Act::Succeed]),
        ("other", &[Act::TimeUp, Act::Succeed]),
        ("canceled", &[Act::Hang]),
    ];
    let runner = FakeRunner::new(acts);
    let driver = driver(&runner, &sink_of());
    let cancellation = Cancellation::new();
    let (report, ()) = tokio::join!(driver.run(plan(text), &cancellation), async {
        sleep(SECOND).await;
        driver.controls.cancel_job("canceled").await.unwrap();
    });
    assert_eq!(
        statuses(&report),
        "slow success, other failed, canceled canceled"
    );
    let attempts: Vec<u32> = report.jobs.iter().map(|job| job.attempts).collect();
    assert_eq!(attempts, [2, 1, 1]);
}
