//! Manual jobs.

use super::{run, sink_of, statuses};
use crate::fake::{Act, driver, plan_of};
use executor_core::Cancellation;
use pipeline::Selection;
use scheduler::event::EventKind;
use scheduler::{RunExit, Status};

#[tokio::test(start_paused = true)]
async fn pipeline_that_waits_at_a_manual_job_succeeds() {
    // R-PIPE-28
    let text = "
stages: [approve, deploy]
approve: {stage: approve, script: x, when: manual, allow_failure: false}
deploy: {stage: deploy, script: x}
";
    let (report, runner, sink) = run(text, &[]).await;
    assert_eq!(statuses(&report), "approve manual, deploy created");
    assert_eq!(
        (report.status, report.exit),
        (Status::Manual, RunExit::Success)
    );
    assert!(runner.names().is_empty());
    let awaits = |kind: &EventKind| matches!(kind, EventKind::JobStatus { job, status: Status::Manual, .. } if &**job == "approve");
    assert!(
        sink.kinds().iter().any(awaits),
        "the manual job is reported"
    );
    let done = sink.kinds().pop().unwrap();
    let status = Status::Manual;
    assert!(matches!(done, EventKind::PipelineDone { status: s, exit_code: 0, .. } if s == status));

    let played = Selection {
        manual: vec!["approve".to_owned()],
        ..Selection::default()
    };
    let report = driver(&runner, &sink_of())
        .run(plan_of(text, &played), &Cancellation::new())
        .await;
    assert_eq!(report.status, Status::Success);
    assert_eq!(runner.names(), ["approve", "deploy"]);
}

#[tokio::test(start_paused = true)]
async fn failure_beside_a_blocking_manual_job_decides_the_exit_code() {
    let text = "
approve: {script: x, when: manual, allow_failure: false}
test: {script: x}
";
    let (report, ..) = run(text, &[("test", &[Act::Fail(1)])]).await;
    assert_eq!(statuses(&report), "approve manual, test failed");
    assert_eq!(
        (report.status, report.exit),
        (Status::Manual, RunExit::JobFailed)
    );
}
