//! What is counted of a job, and when.

use super::bench::{Bench, RUNNER, RUNNER_BEFORE_STAGE, report};
use executor_core::prelude::*;
use executor_layers::{MetricsOptions, StageDurations};
use executor_testkit::{Directive, Failure, Moment};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_job_is_timed_inside_and_outside_of_the_users_code() {
    let bench = Bench::new(MetricsOptions {
        stage_durations: StageDurations::Export,
        ..MetricsOptions::default()
    });
    let seconds = |seconds| Directive::exit(0).delay(Duration::from_secs(seconds));
    bench.scripted.on(Moment::Acquire, seconds(4));
    bench.scripted.on(Moment::Prepare, seconds(3));
    bench.scripted.on(BuildStage::GetSources, seconds(2));
    bench.scripted.on(
        BuildStage::script(),
        seconds(60).stdout("12345").stderr("123"),
    );
    bench.scripted.on(BuildStage::AfterScript, seconds(5));
    bench.scripted.on(Moment::Cleanup, seconds(1));
    let outcome = JobOutcome {
        // What the runner does itself never reaches an executor, and is in the reports.
        stages: vec![
            report(BuildStage::GetSources, 2),
            report(BuildStage::DownloadArtifacts, 7),
            report(BuildStage::script(), 60),
        ],
        ..JobOutcome::success()
    };
    let stages = [
        BuildStage::GetSources,
        BuildStage::script(),
        BuildStage::AfterScript,
    ];
    bench.job(&stages, &outcome).await;

    bench.expect(&format!("gitlab_runner_jobs_total{{{RUNNER}}}"), 1.0);
    bench.expect(
        r#"gitlab_runner_job_execution_mode_total{executor="scripted",mode="script"}"#,
        1.0,
    );
    let sum = |name: &str, labels: &str| format!("{name}_sum{{{labels}}}");
    let job = format!(r#"mode="script",{RUNNER}"#);
    bench.expect(&sum("gitlab_runner_job_duration_seconds", &job), 71.0);
    bench.expect(&sum("runwright_overhead_seconds", RUNNER), 6.0);
    bench.expect(&sum("runwright_acquire_wait_seconds", RUNNER), 4.0);
    bench.expect(
        &format!("runwright_user_code_seconds_total{{{RUNNER}}}"),
        65.0,
    );
    for (stage, seconds) in [
        ("prepare_executor", 3.0),
        ("get_sources", 2.0),
        ("download_artifacts", 7.0),
        ("finish", 0.0),
        ("cleanup", 1.0),
    ] {
        let labels = format!(r#"{RUNNER_BEFORE_STAGE},stage="{stage}",system_id="s_1""#);
        bench.expect(&sum("runwright_stage_seconds", &labels), seconds);
    }
    let script = format!(r#"{RUNNER_BEFORE_STAGE},stage="step_script",system_id="s_1""#);
    assert_eq!(bench.value(&sum("runwright_stage_seconds", &script)), None);
    bench.expect(
        &sum("gitlab_runner_job_stage_duration_seconds", &script),
        60.0,
    );
    bench.scripted.assert_obeyed();
}

#[tokio::test]
async fn a_stage_of_the_build_has_no_histogram_unless_asked_for() {
    let bench = Bench::new(MetricsOptions::default());
    let outcome = JobOutcome {
        stages: vec![report(BuildStage::script(), 1)],
        ..JobOutcome::success()
    };
    bench.job(&[BuildStage::script()], &outcome).await;
    assert!(!bench.scrape().contains("job_stage_duration"));
}

#[tokio::test]
async fn attempts_of_one_job_are_one_job() {
    let bench = Bench::new(MetricsOptions::default());
    let broken = Directive::fail(Failure::temporary("no answer")).times(2);
    bench.scripted.on(Moment::Prepare, broken);
    let data = bench.acquire().await.unwrap();
    for _ in 0..3 {
        let stages = [BuildStage::script()];
        bench.attempt(&data, &stages, &JobOutcome::success()).await;
    }
    assert_eq!(
        bench.value("gitlab_runner_jobs_total"),
        None,
        "it goes on until its capacity is back"
    );
    bench.provider.release(&bench.config, data).await;
    bench.expect(&format!("gitlab_runner_jobs_total{{{RUNNER}}}"), 1.0);
    bench.expect(
        &format!(
            r#"runwright_prepare_failures_total{{failure_reason="runner_system_failure",{RUNNER}}}"#
        ),
        2.0,
    );
    assert!(!bench.scrape().contains("failed_jobs_total"));
}

#[tokio::test]
async fn a_job_that_failed_has_a_reason() {
    let check = async |prepare: Directive, outcome: &JobOutcome, reason: &str| {
        let bench = Bench::new(MetricsOptions::default());
        bench.scripted.on(Moment::Prepare, prepare);
        bench.job(&[BuildStage::script()], outcome).await;
        bench.expect(
            &format!(
                r#"gitlab_runner_failed_jobs_total{{failure_reason="{reason}",mode="script",runner="abcdefghi",runner_name="testkit"}}"#
            ),
            1.0,
        );
    };
    let script = BuildError::Script {
        exit_code: ExitCode(3),
    };
    let failed = JobOutcome::from_error(script);
    check(Directive::succeed(), &failed, "script_failure").await;
    let canceled = JobOutcome::from_error(BuildError::Canceled(CancelCause::User));
    check(Directive::succeed(), &canceled, "job_canceled").await;
    let no_pull = || BuildError::ImagePull {
        image: "alpine".to_owned(),
        source: None,
        retry: executor_core::Retryability::Permanent,
    };
    let never_finished = Directive::fail(Failure::with(no_pull));
    check(never_finished, &JobOutcome::success(), "image_pull_failure").await;
}

#[tokio::test]
async fn requests_for_capacity_are_counted_by_what_came_of_them() {
    let mut bench = Bench::new(MetricsOptions::default());
    bench.config.limit = 7;
    bench.scripted.set_capacity(Some(1));
    let data = bench.acquire().await.unwrap();
    assert!(bench.acquire().await.is_err());
    bench.provider.release(&bench.config, data).await;
    let broken = Directive::fail(Failure::permanent("no daemon"));
    bench.scripted.on(Moment::Acquire, broken.times(1));
    assert!(bench.acquire().await.is_err());
    bench.scripted.on(Moment::Acquire, Directive::hang());
    let stopped = Cancellation::new();
    stopped.cancel(CancelCause::Shutdown);
    let acquired = bench.provider.acquire(&bench.config, &stopped).await;
    assert!(matches!(acquired, Err(AcquireError::Canceled(_))));

    for outcome in ["acquired", "no_free_executor", "failed", "canceled"] {
        let labels = format!(r#"outcome="{outcome}",{RUNNER}"#);
        bench.expect(&format!("runwright_acquires_total{{{labels}}}"), 1.0);
    }
    bench.expect(
        &format!("runwright_acquire_wait_seconds_count{{{RUNNER}}}"),
        1.0,
    );
    bench.expect(&format!("gitlab_runner_limit{{{RUNNER}}}"), 7.0);
    assert_eq!(
        bench.value("gitlab_runner_jobs_total"),
        None,
        "no job came, so none is counted"
    );
}

#[tokio::test]
async fn what_a_script_used_and_left_is_counted() {
    let bench = Bench::new(MetricsOptions::default());
    bench.scripted.on(
        BuildStage::script(),
        Directive::oom().stdout("12345").stderr("123"),
    );
    let leftover = Directive::fail(Failure::permanent("a container is left"));
    bench.scripted.on(Moment::Cleanup, leftover);
    bench
        .job(&[BuildStage::script()], &JobOutcome::success())
        .await;
    for (name, value) in [
        ("runwright_oom_killed_stages_total", 1.0),
        ("runwright_cleanup_failures_total", 1.0),
    ] {
        bench.expect(&format!("{name}{{{RUNNER}}}"), value);
    }
    for (stream, bytes) in [("stdout", 5.0), ("stderr", 3.0)] {
        let labels = format!(r#"{RUNNER_BEFORE_STAGE},stream="{stream}",system_id="s_1""#);
        bench.expect(&format!("runwright_output_bytes_total{{{labels}}}"), bytes);
    }
}

#[tokio::test]
async fn what_a_payload_says_of_its_queue_is_told_once_for_a_job() {
    let mut bench = Bench::new(MetricsOptions::default());
    bench.job(&[], &JobOutcome::success()).await;
    assert!(!bench.scrape().contains("gitlab_runner_job_queue"));

    bench.info.time_in_queue_seconds = 42.5;
    bench.info.project_jobs_running_on_instance_runners_count = "3".to_owned();
    (bench.info.queue_size, bench.info.queue_depth) = (7, 2);
    let data = bench.acquire().await.unwrap();
    // A further attempt did not wait again.
    for _ in 0..2 {
        bench.attempt(&data, &[], &JobOutcome::success()).await;
    }
    bench.provider.release(&bench.config, data).await;
    let waited = format!(r#"{{project_jobs_running="3",{RUNNER}}}"#);
    let of = |name: &str, labels: &str| format!("gitlab_runner_job_queue_{name}{labels}");
    bench.expect(&of("duration_seconds_sum", &waited), 42.5);
    bench.expect(&of("duration_seconds_count", &waited), 1.0);
    bench.expect(&of("size", &format!("{{{RUNNER}}}")), 7.0);
    bench.expect(&of("depth", &format!("{{{RUNNER}}}")), 2.0);
}
