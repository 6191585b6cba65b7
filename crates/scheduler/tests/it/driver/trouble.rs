//! Trouble that no job is to blame for.

use super::{run, sink_of, statuses};
use crate::fake::{Act, BrokenProvider, FakeRunner, driver, plan};
use executor_core::Cancellation;
use scheduler::RunExit;
use std::sync::Arc;

#[tokio::test(start_paused = true)]
async fn a_broken_environment_is_told_from_a_broken_job() {
    let text = "test: {script: x}\n";
    let (report, ..) = run(text, &[("test", &[Act::SystemFailure])]).await;
    assert_eq!(report.exit, RunExit::Environment);
    let (report, ..) = run(text, &[("test", &[Act::Panic])]).await;
    assert_eq!(statuses(&report), "test failed");
    assert_eq!(report.exit, RunExit::Environment);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_gives_nothing_ends_the_pipeline() {
    let runner = FakeRunner::new(&[]);
    let mut driver = driver(&runner, &sink_of());
    driver.provider = Arc::new(BrokenProvider::Speechless);
    let report = driver
        .run(plan("test: {script: x}\n"), &Cancellation::new())
        .await;
    assert_eq!(statuses(&report), "test canceled");
    assert_eq!(report.exit, RunExit::Environment);
    assert_eq!(report.error.unwrap().to_string(), "describe the executor");
    assert!(runner.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_is_reported_with_its_reason() {
    for (provider, expect, reason) in [
        (
            BrokenProvider::PanicsWhenAsked,
            "a canceled, b canceled",
            "a fault of features",
        ),
        (
            BrokenProvider::PanicsAtTheEnd,
            "a success, b canceled",
            "a fault of release",
        ),
    ] {
        let runner = FakeRunner::new(&[]);
        let mut driver = driver(&runner, &sink_of());
        driver.provider = Arc::new(provider);
        let text = "
a: {stage: build, script: x}
b: {stage: test, script: x, when: delayed, start_in: 1 day}
";
        let report = driver.run(plan(text), &Cancellation::new()).await;
        assert_eq!(statuses(&report), expect);
        assert_eq!(report.exit, RunExit::Environment);
        let words = executor_core::chain(&report.error.unwrap());
        assert!(words.contains(reason), "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_that_a_panic_did_not_stop_is_still_not_well() {
    let runner = FakeRunner::new(&[]);
    let mut driver = driver(&runner, &sink_of());
    driver.provider = Arc::new(BrokenProvider::PanicsAtTheEnd);
    let report = driver
        .run(plan("test: {script: x}\n"), &Cancellation::new())
        .await;
    assert_eq!(statuses(&report), "test success");
    assert_eq!(report.exit, RunExit::Environment);
}
