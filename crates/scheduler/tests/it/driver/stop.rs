//! Cancels, aborts and time limits.

use super::{SECOND, sink_of, statuses};
use crate::fake::{Act, FakeRunner, driver, plan};
use executor_core::{CancelCause, Cancellation};
use scheduler::event::EventKind;
use scheduler::{RunExit, Status};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn cancel_stops_running_jobs_and_starts_no_other() {
    let text = "
stages: [a, b]
hangs: {stage: a, script: x}
waits: {stage: a, script: x, when: delayed, start_in: 1 day}
never: {stage: b, script: x, when: always}
";
    let runner = FakeRunner::new(&[("hangs", &[Act::Hang])]);
    let sink = sink_of();
    let cancellation = Cancellation::new();
    let driver = driver(&runner, &sink);
    let (report, ()) = tokio::join!(driver.run(plan(text), &cancellation), async {
        runner.begun.notified().await;
        cancellation.cancel(CancelCause::User);
    });
    assert_eq!(
        statuses(&report),
        "hangs canceled, waits canceled, never canceled"
    );
    assert_eq!(
        (report.status, report.exit),
        (Status::Canceled, RunExit::Interrupted)
    );
    let canceling = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::JobStatus {
                status: Status::Canceling,
                ..
            }
        )
    };
    assert_eq!(
        sink.kinds().iter().filter(|kind| canceling(kind)).count(),
        1
    );
    assert_eq!(runner.names(), ["hangs"]);
}

#[tokio::test(start_paused = true)]
async fn abort_reaches_running_jobs() {
    let runner = FakeRunner::new(&[("hangs", &[Act::Hang])]);
    let cancellation = Cancellation::new();
    let driver = driver(&runner, &sink_of());
    let (report, ()) = tokio::join!(
        driver.run(plan("hangs: {script: x}\n"), &cancellation),
        async {
            runner.begun.notified().await;
            cancellation.abort(CancelCause::User);
        }
    );
    assert_eq!(statuses(&report), "hangs canceled");
    assert_eq!(report.exit, RunExit::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn time_limit_ends_the_pipeline() {
    let runner = FakeRunner::new(&[("hangs", &[Act::Hang])]);
    let mut driver = driver(&runner, &sink_of());
    driver.timeout = Some(60 * SECOND);
    let cancellation = Cancellation::new();
    let report = driver
        .run(plan("hangs: {script: x}\n"), &cancellation)
        .await;
    assert_eq!(report.duration, 60 * SECOND);
    assert_eq!(report.exit, RunExit::JobFailed);
    assert!(
        !cancellation.is_canceled(),
        "the caller's cancellation is not used"
    );
}

#[tokio::test(start_paused = true)]
async fn unreachable_time_limit_is_ignored() {
    let runner = FakeRunner::new(&[("test", &[Act::Take(60 * SECOND)])]);
    let mut driver = driver(&runner, &sink_of());
    driver.timeout = Some(Duration::MAX);
    let report = driver
        .run(plan("test: {script: x}\n"), &Cancellation::new())
        .await;
    assert_eq!(report.exit, RunExit::Success);
    assert_eq!(report.duration, 60 * SECOND);
}
