//! Requests to a running pipeline.

use super::{SECOND, sink_of, statuses};
use crate::fake::{Act, FakeRunner, driver, plan};
use executor_core::{Cancellation, JobVariable};
use scheduler::{ControlError, Controls};
use scheduler::{PipelineReport, RunExit, Status};
use std::sync::Arc;
use tokio::time::{Instant, sleep};

/// Runs a pipeline, and calls `what` a second after it began.
async fn control(
    text: &str,
    acts: &[(&str, &[Act])],
    what: impl AsyncFnOnce(&Controls),
) -> (PipelineReport, Arc<FakeRunner>) {
    let runner = FakeRunner::new(acts);
    let driver = driver(&runner, &sink_of());
    assert_eq!(driver.controls.cancel().await, Err(ControlError::NotBegun));
    let cancellation = Cancellation::new();
    let (report, ()) = tokio::join!(driver.run(plan(text), &cancellation), async {
        sleep(SECOND).await;
        what(&driver.controls).await;
    });
    assert_eq!(
        driver.controls.play("x", Vec::new()).await,
        Err(ControlError::Ended)
    );
    (report, runner)
}

const TWO_SECONDS: Act = Act::Take(std::time::Duration::from_secs(2));

#[tokio::test(start_paused = true)]
async fn play_starts_a_manual_job_with_variables() {
    // R-GLCI-123
    let text = "
stages: [a, b]
long: {stage: a, script: x}
approve: {stage: a, script: x, when: manual, allow_failure: false, variables: {WHO: file, KEEP: k}}
after: {stage: b, script: x}
";
    let (report, runner) = control(text, &[("long", &[TWO_SECONDS])], async |controls| {
        let status = controls.status().await.unwrap();
        let stands: Vec<Status> = status.jobs.iter().map(|job| job.status).collect();
        assert_eq!(stands, [Status::Running, Status::Manual, Status::Created]);
        let given = vec![
            JobVariable::public("WHO", "me"),
            JobVariable::public("NEW", "n"),
        ];
        controls.play("approve", given).await.unwrap();
        let again = controls.play("approve", Vec::new()).await.unwrap_err();
        assert!(
            again.to_string().starts_with("the job \"approve\" is "),
            "{again}"
        );
        let unknown = controls.play("aprove", Vec::new()).await.unwrap_err();
        let suggestion = Some("approve".to_owned());
        let job = "aprove".to_owned();
        assert_eq!(unknown, ControlError::UnknownJob { job, suggestion });
    })
    .await;
    assert_eq!(
        statuses(&report),
        "long success, approve success, after success"
    );
    let value = |name: &str| runner.variable("approve", name);
    assert_eq!(value("WHO").as_deref(), Some("me"));
    assert_eq!(value("NEW").as_deref(), Some("n"));
    assert_eq!(value("KEEP").as_deref(), Some("k"));
}

#[tokio::test(start_paused = true)]
async fn delayed_job_can_be_played() {
    let text = "later: {script: x, when: delayed, start_in: 1 day}\n";
    let begun = Instant::now();
    let (report, _) = control(text, &[], async |controls| {
        controls.play("later", Vec::new()).await.unwrap();
    })
    .await;
    assert_eq!(statuses(&report), "later success");
    assert_eq!(begun.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn canceling_one_job_lets_others_continue() {
    let text = "
stages: [a, b]
hangs: {stage: a, script: x, allow_failure: true}
later: {stage: a, script: x, when: delayed, start_in: 1 day}
manual: {stage: a, script: x, when: manual}
beside: {stage: a, script: x}
behind: {stage: b, script: x, needs: [beside]}
";
    let acts: &[(&str, &[Act])] = &[("hangs", &[Act::Hang]), ("beside", &[TWO_SECONDS])];
    let (report, _) = control(text, acts, async |controls| {
        for job in ["hangs", "later", "manual"] {
            controls.cancel_job(job).await.unwrap();
        }
        let job = "later".to_owned();
        let status = Status::Canceled;
        let ended = ControlError::NotCancelable { job, status };
        assert_eq!(controls.cancel_job("later").await, Err(ended));
    })
    .await;
    assert_eq!(
        statuses(&report),
        "hangs canceled, later canceled, manual canceled, beside success, behind success"
    );
    assert_eq!(report.exit, RunExit::JobFailed);
}

#[tokio::test(start_paused = true)]
async fn request_cancels_the_pipeline() {
    let text = "hangs: {script: x}\nlater: {script: x, when: delayed, start_in: 1 day}\n";
    let (report, _) = control(text, &[("hangs", &[Act::Hang])], async |controls| {
        controls.cancel().await.unwrap();
    })
    .await;
    assert_eq!(statuses(&report), "hangs canceled, later canceled");
    assert_eq!(report.exit, RunExit::Interrupted);
}
