//! Held pipelines, and retries requested by the user.

use super::{SECOND, sink_of, statuses};
use crate::fake::{Act, FakeRunner, Recorder, driver, plan};
use executor_core::{CancelCause, Cancellation};
use scheduler::event::EventKind;
use scheduler::{ControlError, Controls, Hold};
use scheduler::{PipelineReport, RunExit, Status};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Runs a held pipeline, and calls `what` a second after it began.
async fn hold(
    text: &str,
    acts: &[(&str, &[Act])],
    timeout: Option<Duration>,
    what: impl AsyncFnOnce(&Controls, Hold, &Cancellation),
) -> (PipelineReport, Arc<FakeRunner>, Arc<Recorder>) {
    let runner = FakeRunner::new(acts);
    let sink = sink_of();
    let mut driver = driver(&runner, &sink);
    driver.timeout = timeout;
    let hold = driver.controls.hold();
    let cancellation = Cancellation::new();
    let (report, ()) = tokio::join!(driver.run(plan(text), &cancellation), async {
        sleep(SECOND).await;
        what(&driver.controls, hold, &cancellation).await;
    });
    assert_eq!(driver.controls.retry("x").await, Err(ControlError::Ended));
    (report, runner, sink)
}

const TEXT: &str = "
stages: [a, b]
first: {stage: a, script: x}
second: {stage: b, script: x}
by-hand: {stage: b, script: x, when: manual}
";

#[tokio::test(start_paused = true)]
async fn retried_job_lets_the_pipeline_continue() {
    let acts: &[(&str, &[Act])] = &[("first", &[Act::Fail(3), Act::Take(SECOND)])];
    let (report, runner, sink) = hold(TEXT, acts, None, async |controls, hold, _| {
        let status = controls.status().await.unwrap();
        assert_eq!(status.status, Status::Failed);
        controls.retry("first").await.unwrap();
        let again = controls.retry("first").await.unwrap_err();
        let job = "first".to_owned();
        let status = Status::Running;
        let pending = Status::Pending;
        assert!(
            again
                == ControlError::NotRetryable {
                    job: job.clone(),
                    status
                }
                || again
                    == ControlError::NotRetryable {
                        job,
                        status: pending
                    }
        );
        assert!(again.suggestion().is_some());
        let unknown = controls.retry("frist").await.unwrap_err();
        assert_eq!(unknown.suggestion().as_deref(), Some("first"));
        sleep(SECOND * 5).await;
        controls.retry("second").await.unwrap();
        controls.play("by-hand", Vec::new()).await.unwrap();
        sleep(SECOND * 10).await;
        drop(hold);
    })
    .await;
    assert_eq!(
        statuses(&report),
        "first success, second success, by-hand success"
    );
    assert_eq!(
        (report.status, report.exit),
        (Status::Success, RunExit::Success)
    );
    assert_eq!(
        runner.names(),
        ["first", "first", "second", "second", "by-hand"]
    );
    let attempts: Vec<u32> = report.jobs.iter().map(|job| job.attempts).collect();
    assert_eq!(attempts, [2, 2, 1]);
    // The result of the last attempt.
    assert_eq!(report.jobs[0].failure_reason, None);
    assert_eq!(report.jobs[0].exit_code, Some(0));
    // The time in which only the hold kept it open does not count.
    assert_eq!(report.duration, SECOND * 6);
    let ends = sink.kinds().into_iter().filter_map(|kind| match kind {
        EventKind::JobFinished {
            job,
            status,
            attempt,
            ..
        } => Some(format!("{job} {attempt} {status}")),
        _ => None,
    });
    assert_eq!(
        ends.collect::<Vec<_>>(),
        [
            "first 1 failed",
            "first 2 success",
            "second 1 success",
            "second 2 success",
            "by-hand 1 success"
        ]
    );
    let done = |kind: &EventKind| matches!(kind, EventKind::PipelineDone { .. });
    assert_eq!(sink.kinds().iter().filter(|kind| done(kind)).count(), 1);
    assert!(
        sink.lines()
            .contains("Trying again, attempt 2: requested by the user")
    );
}

#[tokio::test(start_paused = true)]
async fn skipped_and_manual_jobs_cannot_be_retried() {
    let acts: &[(&str, &[Act])] = &[("first", &[Act::Fail(1)])];
    hold(TEXT, acts, None, async |controls, _hold, _| {
        for job in ["second", "by-hand"] {
            let error = controls.retry(job).await.unwrap_err();
            let status = Status::Skipped;
            let job = job.to_owned();
            assert_eq!(error, ControlError::NotRetryable { job, status });
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn retried_job_waits_for_its_resource_group() {
    let text = "
one: {script: x, resource_group: g}
two: {script: x, resource_group: g}
";
    let takes = [Act::Take(SECOND * 4)];
    let acts: &[(&str, &[Act])] = &[("two", &takes)];
    let (report, runner, _) = hold(text, acts, None, async |controls, hold, _| {
        controls.retry("one").await.unwrap();
        drop(hold);
    })
    .await;
    assert_eq!(statuses(&report), "one success, two success");
    assert_eq!(runner.names(), ["one", "two", "one"]);
    let ran = runner.ran.lock();
    assert_eq!(ran[1].ended, ran[2].begun);
}

#[tokio::test(start_paused = true)]
async fn stop_ends_a_held_pipeline() {
    // All jobs had ended: the result stays.
    let (report, _, _) = hold("a: {script: x}\n", &[], None, async |_, hold, stop| {
        stop.cancel(CancelCause::User);
        sleep(SECOND).await;
        drop(hold);
    })
    .await;
    assert_eq!(
        (report.status, report.exit),
        (Status::Success, RunExit::Success)
    );
    // A job was still running.
    let hangs: &[(&str, &[Act])] = &[("a", &[Act::Succeed, Act::Hang])];
    let (report, _, _) = hold(
        "a: {script: x}\n",
        hangs,
        None,
        async |controls, hold, stop| {
            controls.retry("a").await.unwrap();
            sleep(SECOND).await;
            stop.cancel(CancelCause::User);
            assert_eq!(controls.retry("a").await, Err(ControlError::Canceling));
            sleep(SECOND).await;
            drop(hold);
        },
    )
    .await;
    assert_eq!(
        (report.status, report.exit),
        (Status::Canceled, RunExit::Interrupted)
    );
    // A cancel request ends it, too.
    let (report, _, _) = hold(
        "a: {script: x}\n",
        hangs,
        None,
        async |controls, hold, _| {
            controls.retry("a").await.unwrap();
            sleep(SECOND).await;
            controls.cancel().await.unwrap();
            sleep(SECOND).await;
            drop(hold);
        },
    )
    .await;
    assert_eq!(
        (report.status, report.exit),
        (Status::Canceled, RunExit::Interrupted)
    );
}

#[tokio::test(start_paused = true)]
async fn time_limit_ends_a_held_pipeline() {
    let limit = Some(SECOND * 3);
    let (report, _, _) = hold("a: {script: x}\n", &[], limit, async |_, hold, _| {
        sleep(SECOND * 5).await;
        drop(hold);
    })
    .await;
    assert_eq!(
        (report.status, report.exit),
        (Status::Success, RunExit::Success)
    );
    assert_eq!(report.duration, Duration::ZERO);
    let hangs: &[(&str, &[Act])] = &[("a", &[Act::Succeed, Act::Hang])];
    let (report, _, _) = hold(
        "a: {script: x}\n",
        hangs,
        limit,
        async |controls, hold, _| {
            controls.retry("a").await.unwrap();
            sleep(SECOND * 5).await;
            drop(hold);
        },
    )
    .await;
    assert_eq!(
        (report.status, report.exit),
        (Status::Failed, RunExit::JobFailed)
    );
}

#[tokio::test(start_paused = true)]
async fn delays_continue_in_a_held_pipeline() {
    let text = "
stages: [a, b]
now: {stage: a, script: x}
later: {stage: b, script: x, when: delayed, start_in: 10 seconds}
";
    let acts: &[(&str, &[Act])] = &[("now", &[Act::Fail(1), Act::Succeed])];
    let (report, _, _) = hold(text, acts, None, async |controls, hold, _| {
        controls.retry("now").await.unwrap();
        drop(hold);
    })
    .await;
    assert_eq!(statuses(&report), "now success, later success");
    assert_eq!(report.duration, SECOND * 11);
}

#[tokio::test(start_paused = true)]
async fn stopped_clock_postpones_the_time_limit() {
    let acts: &[(&str, &[Act])] = &[("first", &[Act::Take(SECOND)])];
    let timeout = Some(SECOND * 5);
    let (report, _, _) = hold(TEXT, acts, timeout, async |controls, hold, _| {
        let stopped = controls.stop_clock();
        sleep(SECOND * 20).await;
        assert!(controls.status().await.is_ok(), "the clock stands still");
        drop(stopped);
        sleep(SECOND * 3).await;
        assert!(
            controls.status().await.is_ok(),
            "a second of the limit was left"
        );
        sleep(SECOND * 2).await;
        assert_eq!(
            controls.status().await,
            Err(ControlError::Ended),
            "the limit has passed"
        );
        drop(hold);
    })
    .await;
    assert!(!report.jobs.is_empty());
}
