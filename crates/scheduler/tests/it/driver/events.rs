//! The events of a run, and its report.

use super::{run, statuses};
use crate::fake::{Act, FakeRunner, Recorder, driver, plan};
use executor_core::{Cancellation, TraceStream};
use scheduler::{RunExit, Status};
use std::num::NonZeroU32;
use std::sync::Arc;

#[tokio::test(start_paused = true)]
async fn small_pipeline_emits_all_events_in_order() {
    let text = "
build: {stage: build, script: make}
test: {stage: test, script: make test, retry: 1}
lint: {stage: test, script: lint, allow_failure: true, needs: []}
notify: {stage: deploy, script: mail, when: on_failure}
";
    let runner = FakeRunner::new(&[
        (
            "build",
            &[Act::Write(vec![(TraceStream::STDOUT, b"made\n".to_vec())])],
        ),
        ("test", &[Act::Fail(7), Act::Succeed]),
        ("lint", &[Act::Fail(1)]),
    ]);
    let sink = Arc::new(Recorder::default());
    let mut driver = driver(&runner, &sink);
    driver.concurrency = NonZeroU32::MIN;
    let report = driver.run(plan(text), &Cancellation::new()).await;
    assert_eq!(report.exit, RunExit::Success);
    insta::assert_snapshot!(sink.lines(), @r#"
    {"v":1,"seq":1,"at":null,"pipeline":1,"type":"pipeline_started","jobs":["build","test","lint","notify"],"graph":[{"job":"build","stage":"build"},{"job":"test","stage":"test"},{"job":"lint","stage":"test","needs":[]},{"job":"notify","stage":"deploy"}]}
    {"v":1,"seq":2,"at":null,"pipeline":1,"type":"job_status","job":"build","stage":"build","status":"pending","attempt":1}
    {"v":1,"seq":3,"at":null,"pipeline":1,"type":"job_status","job":"lint","stage":"test","status":"pending","attempt":1}
    {"v":1,"seq":4,"at":null,"pipeline":1,"type":"stage_start","stage":"build"}
    {"v":1,"seq":5,"at":null,"pipeline":1,"type":"job_status","job":"build","stage":"build","status":"running","attempt":1}
    {"v":1,"seq":6,"at":null,"pipeline":1,"type":"job_stage","job":"build","name":"prepare_executor","state":"started","user_code":false}
    {"v":1,"seq":7,"at":null,"pipeline":1,"type":"job_log","job":"build","stream":"stdout","line":"made"}
    {"v":1,"seq":8,"at":null,"pipeline":1,"type":"job_stage","job":"build","name":"prepare_executor","state":"succeeded","user_code":false,"duration_ms":null}
    {"v":1,"seq":9,"at":null,"pipeline":1,"type":"job_status","job":"build","stage":"build","status":"success","attempt":1}
    {"v":1,"seq":10,"at":null,"pipeline":1,"type":"job_finished","job":"build","stage":"build","status":"success","exit_code":0,"failure_reason":null,"allow_failure":false,"attempt":1,"duration_ms":null}
    {"v":1,"seq":11,"at":null,"pipeline":1,"type":"job_status","job":"test","stage":"test","status":"pending","attempt":1}
    {"v":1,"seq":12,"at":null,"pipeline":1,"type":"stage_start","stage":"test"}
    {"v":1,"seq":13,"at":null,"pipeline":1,"type":"job_status","job":"test","stage":"test","status":"running","attempt":1}
    {"v":1,"seq":14,"at":null,"pipeline":1,"type":"job_stage","job":"test","name":"prepare_executor","state":"started","user_code":false}
    {"v":1,"seq":15,"at":null,"pipeline":1,"type":"job_stage","job":"test","name":"prepare_executor","state":"failed","user_code":false,"duration_ms":null}
    {"v":1,"seq":16,"at":null,"pipeline":1,"type":"job_status","job":"test","stage":"test","status":"failed","attempt":1}
    {"v":1,"seq":17,"at":null,"pipeline":1,"type":"job_finished","job":"test","stage":"test","status":"failed","exit_code":7,"failure_reason":"script_failure","allow_failure":false,"attempt":1,"duration_ms":null}
    {"v":1,"seq":18,"at":null,"pipeline":1,"type":"job_status","job":"test","stage":"test","status":"pending","attempt":2}
    {"v":1,"seq":19,"at":null,"pipeline":1,"type":"job_status","job":"test","stage":"test","status":"running","attempt":2}
    {"v":1,"seq":20,"at":null,"pipeline":1,"type":"job_log","job":"test","stream":"system","line":"WARNING: Trying again, attempt 2: the previous one ended with script_failure, exit code 7","level":"warning"}
    {"v":1,"seq":21,"at":null,"pipeline":1,"type":"job_stage","job":"test","name":"prepare_executor","state":"started","user_code":false}
    {"v":1,"seq":22,"at":null,"pipeline":1,"type":"job_stage","job":"test","name":"prepare_executor","state":"succeeded","user_code":false,"duration_ms":null}
    {"v":1,"seq":23,"at":null,"pipeline":1,"type":"job_status","job":"test","stage":"test","status":"success","attempt":2}
    {"v":1,"seq":24,"at":null,"pipeline":1,"type":"job_finished","job":"test","stage":"test","status":"success","exit_code":0,"failure_reason":null,"allow_failure":false,"attempt":2,"duration_ms":null}
    {"v":1,"seq":25,"at":null,"pipeline":1,"type":"job_status","job":"lint","stage":"test","status":"running","attempt":1}
    {"v":1,"seq":26,"at":null,"pipeline":1,"type":"job_stage","job":"lint","name":"prepare_executor","state":"started","user_code":false}
    {"v":1,"seq":27,"at":null,"pipeline":1,"type":"job_stage","job":"lint","name":"prepare_executor","state":"failed","user_code":false,"duration_ms":null}
    {"v":1,"seq":28,"at":null,"pipeline":1,"type":"job_status","job":"lint","stage":"test","status":"failed","attempt":1}
    {"v":1,"seq":29,"at":null,"pipeline":1,"type":"job_finished","job":"lint","stage":"test","status":"failed","exit_code":1,"failure_reason":"script_failure","allow_failure":true,"attempt":1,"duration_ms":null}
    {"v":1,"seq":30,"at":null,"pipeline":1,"type":"job_status","job":"notify","stage":"deploy","status":"skipped","attempt":1}
    {"v":1,"seq":31,"at":null,"pipeline":1,"type":"pipeline_done","status":"success","exit_code":0,"duration_ms":null}
    "#);
}

#[tokio::test(start_paused = true)]
async fn failed_job_is_reported_with_exit_code() {
    let text = "
build: {stage: build, script: x}
test: {stage: test, script: x}
";
    let (report, runner, _) = run(text, &[("build", &[Act::Fail(42)])]).await;
    assert_eq!(statuses(&report), "build failed, test skipped");
    assert_eq!(report.exit, RunExit::JobFailed);
    let failed: Vec<_> = report.failed_jobs().collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].exit_code, Some(42));
    assert_eq!(failed[0].failure_reason.unwrap().as_str(), "script_failure");
    assert_eq!(report.jobs[1].attempts, 0);
    assert_eq!(runner.names(), ["build"]);
}

#[tokio::test(start_paused = true)]
async fn pipeline_without_jobs_is_skipped() {
    let text = "clean: {stage: .post, script: x}\n";
    let (report, _, sink) = run(text, &[]).await;
    assert_eq!(
        (report.status, report.exit),
        (Status::Skipped, RunExit::Success)
    );
    assert_eq!(sink.kinds().len(), 2);
}
