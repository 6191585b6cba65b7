//! The driver with a fake job runner, in virtual time.

use crate::fake::{Act, BrokenProvider, FakeRunner, Recorder, driver, plan, plan_of};
use executor_core::{CancelCause, Cancellation, TraceStream};
use pipeline::event::EventKind;
use pipeline::plan::NeedsMode;
use pipeline::{PipelineReport, RunExit, Selection, Status};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn run(
    text: &str,
    acts: &[(&str, &[Act])],
) -> (PipelineReport, Arc<FakeRunner>, Arc<Recorder>) {
    let runner = FakeRunner::new(acts);
    let sink = Arc::new(Recorder::default());
    let report = driver(&runner, &sink)
        .run(plan(text), &Cancellation::new())
        .await;
    (report, runner, sink)
}

fn statuses(report: &PipelineReport) -> String {
    let status = |job: &pipeline::JobReport| format!("{} {}", job.name, job.status);
    report
        .jobs
        .iter()
        .map(status)
        .collect::<Vec<_>>()
        .join(", ")
}

#[tokio::test(start_paused = true)]
async fn a_small_pipeline_tells_its_whole_story() {
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
    {"v":1,"seq":20,"at":null,"pipeline":1,"type":"job_stage","job":"test","name":"prepare_executor","state":"started","user_code":false}
    {"v":1,"seq":21,"at":null,"pipeline":1,"type":"job_stage","job":"test","name":"prepare_executor","state":"succeeded","user_code":false,"duration_ms":null}
    {"v":1,"seq":22,"at":null,"pipeline":1,"type":"job_status","job":"test","stage":"test","status":"success","attempt":2}
    {"v":1,"seq":23,"at":null,"pipeline":1,"type":"job_finished","job":"test","stage":"test","status":"success","exit_code":0,"failure_reason":null,"allow_failure":false,"attempt":2,"duration_ms":null}
    {"v":1,"seq":24,"at":null,"pipeline":1,"type":"job_status","job":"lint","stage":"test","status":"running","attempt":1}
    {"v":1,"seq":25,"at":null,"pipeline":1,"type":"job_stage","job":"lint","name":"prepare_executor","state":"started","user_code":false}
    {"v":1,"seq":26,"at":null,"pipeline":1,"type":"job_stage","job":"lint","name":"prepare_executor","state":"failed","user_code":false,"duration_ms":null}
    {"v":1,"seq":27,"at":null,"pipeline":1,"type":"job_status","job":"lint","stage":"test","status":"failed","attempt":1}
    {"v":1,"seq":28,"at":null,"pipeline":1,"type":"job_finished","job":"lint","stage":"test","status":"failed","exit_code":1,"failure_reason":"script_failure","allow_failure":true,"attempt":1,"duration_ms":null}
    {"v":1,"seq":29,"at":null,"pipeline":1,"type":"job_status","job":"notify","stage":"deploy","status":"skipped","attempt":1}
    {"v":1,"seq":30,"at":null,"pipeline":1,"type":"pipeline_done","status":"success","exit_code":0,"duration_ms":null}
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_job_starts_when_its_needs_have_ended_and_not_with_its_stage() {
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
async fn no_more_jobs_run_at_once_than_there_are_workers() {
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
    let ran = runner.ran.lock().unwrap().clone();
    for job in &ran {
        let beside = ran
            .iter()
            .filter(|other| other.begun <= job.begun && job.begun < other.ended);
        assert!(beside.count() <= 3);
    }
    assert_eq!(report.duration, 4 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn jobs_have_the_lowest_numbers_that_are_free() {
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
async fn a_failed_job_is_reported_with_its_code_and_last_lines() {
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
async fn retries_are_limited_and_counted_and_others_see_one_result() {
    // R-PIPE-44
    let text = "
test: {stage: test, script: x, retry: 2}
rescue: {stage: deploy, script: x, when: on_failure}
";
    let (report, runner, _) = run(text, &[("test", &[Act::Fail(1)])]).await;
    assert_eq!(statuses(&report), "test failed, rescue success");
    assert_eq!(report.jobs[0].attempts, 3);
    let ran = runner.ran.lock().unwrap();
    let attempts: Vec<(&str, u32)> = ran.iter().map(|ran| (&*ran.name, ran.attempt)).collect();
    assert_eq!(
        attempts,
        [("test", 1), ("test", 2), ("test", 3), ("rescue", 1)]
    );
}

#[tokio::test(start_paused = true)]
async fn the_pipeline_waits_at_a_manual_job_and_ends_well() {
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
    assert!(sink.kinds().iter().any(awaits), "somebody is asked for");
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
async fn a_failure_beside_a_manual_job_that_blocks_is_told() {
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

#[tokio::test(start_paused = true)]
async fn a_job_named_by_the_user_runs_although_nothing_failed() {
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

fn sink_of() -> Arc<Recorder> {
    Arc::new(Recorder::default())
}

#[tokio::test(start_paused = true)]
async fn a_delayed_job_waits_its_time() {
    let text = "later: {script: x, when: delayed, start_in: 90 minutes}\n";
    let begun = Instant::now();
    let (report, runner, _) = run(text, &[]).await;
    assert_eq!(report.status, Status::Success);
    assert_eq!(runner.ran("later").begun - begun, 90 * 60 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_running_jobs_and_lets_no_other_start() {
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
async fn an_abort_reaches_running_jobs() {
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
async fn the_pipeline_ends_when_its_own_time_is_up() {
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
        "the caller's own request is left alone"
    );
}

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

#[tokio::test(start_paused = true)]
async fn a_time_that_never_comes_is_no_limit() {
    let runner = FakeRunner::new(&[("test", &[Act::Take(60 * SECOND)])]);
    let mut driver = driver(&runner, &sink_of());
    driver.timeout = Some(Duration::MAX);
    let report = driver
        .run(plan("test: {script: x}\n"), &Cancellation::new())
        .await;
    assert_eq!(report.exit, RunExit::Success);
    assert_eq!(report.duration, 60 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_without_jobs_is_done_at_once() {
    let text = "clean: {stage: .post, script: x}\n";
    let (report, _, sink) = run(text, &[]).await;
    assert_eq!(
        (report.status, report.exit),
        (Status::Skipped, RunExit::Success)
    );
    assert_eq!(sink.kinds().len(), 2);
}
