//! When jobs start, and how often.

use super::{SECOND, run, sink_of, statuses};
use crate::fake::{Act, FakeRunner, Recorder, driver, plan, plan_of};
use executor_core::Cancellation;
use pipeline::Selection;
use pipeline::plan::NeedsMode;
use scheduler::{RunExit, Status};
use std::num::NonZeroU32;
use std::sync::Arc;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn job_with_needs_does_not_wait_for_its_stage() {
    let text = "
slow: {stage: build, script: x}
fast: {stage: build, script: x}
early: {stage: test, script: x, needs: [fast]}
late: {stage: test, script: x}
";
    let acts: [(&str, &[Act]); 2] = [
        ("slow", &[Act::Take(10 * SECOND)]),
        ("fast", &[Act::Take(SECOND)]),
    ];
    let (report, runner, _) = run(text, &acts).await;
    assert_eq!(report.status, Status::Success);
    assert!(runner.ran("early").ended < runner.ran("slow").ended);
    assert!(runner.ran("late").begun >= runner.ran("slow").ended);
    assert_eq!(report.duration, 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn concurrency_limits_running_jobs() {
    // R-GLCI-117
    let names: Vec<String> = (0..10).map(|job| format!("j{job}")).collect();
    let text = names.join(": {script: x}\n") + ": {script: x}\n";
    let act = [Act::Take(SECOND)];
    let acts: Vec<(&str, &[Act])> = names.iter().map(|name| (name.as_str(), &act[..])).collect();
    let runner = FakeRunner::new(&acts);
    let mut driver = driver(&runner, &Arc::new(Recorder::default()));
    driver.concurrency = NonZeroU32::new(3).unwrap();
    let report = driver.run(plan(&text), &Cancellation::new()).await;
    assert_eq!(report.exit, RunExit::Success);
    let ran = runner.ran.lock().clone();
    for job in &ran {
        let beside = ran
            .iter()
            .filter(|other| other.begun <= job.begun && job.begun < other.ended);
        assert!(beside.count() <= 3);
    }
    assert_eq!(report.duration, 4 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn jobs_get_the_lowest_free_slots() {
    let text = "
a: {stage: build, script: x}
b: {stage: build, script: x}
c: {stage: test, script: x}
d: {stage: deploy, script: x}
";
    let acts: [(&str, &[Act]); 2] = [("a", &[Act::Take(SECOND)]), ("b", &[Act::Take(2 * SECOND)])];
    let (_, runner, _) = run(text, &acts).await;
    for (job, number) in [("a", 0), ("b", 1), ("c", 0), ("d", 0)] {
        let slot = runner.ran(job).slot;
        let numbers = (slot.concurrent_id, slot.concurrent_project_id);
        assert_eq!(numbers, (number, number), "of {job}");
    }
}

#[tokio::test(start_paused = true)]
async fn retries_are_limited_and_counted() {
    // R-PIPE-44
    let text = "
test: {stage: test, script: x, retry: 2}
rescue: {stage: deploy, script: x, when: on_failure}
";
    let (report, runner, _) = run(text, &[("test", &[Act::Fail(1)])]).await;
    assert_eq!(statuses(&report), "test failed, rescue success");
    assert_eq!(report.jobs[0].attempts, 3);
    let ran = runner.ran.lock();
    let attempts: Vec<(&str, u32)> = ran.iter().map(|ran| (&*ran.name, ran.attempt)).collect();
    assert_eq!(
        attempts,
        [("test", 1), ("test", 2), ("test", 3), ("rescue", 1)]
    );
}

#[tokio::test(start_paused = true)]
async fn selected_on_failure_job_runs_without_a_failure() {
    let text = "
build: {stage: build, script: x}
rescue: {stage: test, script: x, when: on_failure}
later: {stage: test, script: x, when: delayed, start_in: 1 hour}
";
    let named = |name: &str, needs| Selection {
        jobs: vec![name.to_owned()],
        needs,
        ..Selection::default()
    };
    for (selection, expect) in [
        (named("rescue", NeedsMode::Without), &["rescue"][..]),
        (named("rescue", NeedsMode::With), &["build", "rescue"]),
        (Selection::default(), &["build", "later"]),
    ] {
        let runner = FakeRunner::new(&[]);
        let driver = driver(&runner, &sink_of());
        let plan = plan_of(text, &selection);
        let report = driver.run(plan, &Cancellation::new()).await;
        assert_eq!(report.exit, RunExit::Success);
        assert_eq!(runner.names(), expect, "of {selection:?}");
    }
    let runner = FakeRunner::new(&[]);
    let plan = plan_of(text, &named("later", NeedsMode::Without));
    let report = driver(&runner, &sink_of())
        .run(plan, &Cancellation::new())
        .await;
    assert_eq!(
        report.duration,
        3600 * SECOND,
        "a delayed job keeps its delay"
    );
}

#[tokio::test(start_paused = true)]
async fn delayed_job_waits_for_its_delay() {
    let text = "later: {script: x, when: delayed, start_in: 90 minutes}\n";
    let begun = Instant::now();
    let (report, runner, _) = run(text, &[]).await;
    assert_eq!(report.status, Status::Success);
    assert_eq!(runner.ran("later").begun - begun, 90 * 60 * SECOND);
}
