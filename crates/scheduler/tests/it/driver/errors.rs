//! Failures of the runner, the provider or a worker.

use super::{run, sink_of, statuses};
use crate::fake::{Act, BrokenProvider, FakeRunner, driver, plan};
use executor_core::Cancellation;
use scheduler::RunExit;
use std::sync::Arc;

#[tokio::test(start_paused = true)]
async fn system_failures_and_panics_exit_with_environment() {
    let text = "test: {script: x}\n";
    let (report, ..) = run(text, &[("test", &[Act::SystemFailure])]).await;
    assert_eq!(report.exit, RunExit::Environment);
    let (report, ..) = run(text, &[("test", &[Act::Panic])]).await;
    assert_eq!(statuses(&report), "test failed");
    assert_eq!(report.exit, RunExit::Environment);
}

#[tokio::test(start_paused = true)]
async fn broken_provider_ends_the_pipeline() {
    let runner = FakeRunner::new(&[]);
    let mut driver = driver(&runner, &sink_of());
    driver.provider = Arc::new(BrokenProvider::Undescribed);
    let report = driver
        .run(plan("test: {script: x}\n"), &Cancellation::new())
        .await;
    assert_eq!(statuses(&report), "test canceled");
    assert_eq!(report.exit, RunExit::Environment);
    assert_eq!(report.error.unwrap().to_string(), "describe the executor");
    assert!(runner.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn worker_panic_is_reported_with_its_message() {
    for (provider, expect, reason) in [
        (
            BrokenProvider::PanicsInFeatures,
            "a canceled, b canceled",
            "a bug in features",
        ),
        (
            BrokenProvider::PanicsInRelease,
            "a success, b canceled",
            "a bug in release",
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
async fn worker_panic_after_the_last_job_exits_with_environment() {
    let runner = FakeRunner::new(&[]);
    let mut driver = driver(&runner, &sink_of());
    driver.provider = Arc::new(BrokenProvider::PanicsInRelease);
    let report = driver
        .run(plan("test: {script: x}\n"), &Cancellation::new())
        .await;
    assert_eq!(statuses(&report), "test success");
    assert_eq!(report.exit, RunExit::Environment);
}
