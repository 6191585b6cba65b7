//! Timeouts and retries, with a paused clock.

use crate::support::{Bench, job, local_workspace, note, with_git};
use executor_core::job::{Artifact, ArtifactWhen};
use executor_core::{
    BuildError, BuildStage, CancelCause, ExitCode, FailureReason, JobState, JobVariable,
};
use executor_testkit::{Directive, Failure, Moment, ScriptedProvider};
use jiff::{SignedDuration, Timestamp};
use job_runner::{BuildRunnerOptions, JobNote};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn job_timeout_reserves_time_for_later_stages() {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(root.path().join("builds/project")).expect("made");
    std::fs::write(root.path().join("builds/project/core.log"), "x").expect("written");
    let store = crate::support::artifacts_below(root.path());
    let options = BuildRunnerOptions {
        artifacts: Some(Arc::new(store.clone())),
        ..BuildRunnerOptions::default()
    };
    let provider = ScriptedProvider::new();
    provider.set_workspace(local_workspace(root.path()));
    provider.on(
        BuildStage::script(),
        Directive::hang().termination(Duration::from_hours(1)),
    );
    provider.on(
        BuildStage::AfterScript,
        Directive::succeed().delay(Duration::from_secs(20)),
    );
    let bench = Bench::scripted(&provider, options);
    let artifact = Artifact {
        paths: vec!["core.log".to_owned()],
        when: ArtifactWhen::OnFailure,
        ..Artifact::default()
    };
    let job = job()
        .timeout(600)
        .with(|job| job.artifacts.push(artifact))
        .build();
    let begun = Instant::now();
    let outcome = bench.run(job).await;
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::JobExecutionTimeout)
    );
    let limit = Duration::from_mins(10);
    assert!(begun.elapsed() <= limit, "{:?}", begun.elapsed());
    assert!(matches!(
        outcome.error.as_deref(),
        Some(BuildError::Timeout { phase: "execution", limit: it }) if *it == limit
    ));
    let stages: Vec<_> = outcome
        .stages
        .iter()
        .map(|it| (it.stage.to_string(), it.succeeded))
        .collect();
    let expect = [
        ("prepare_script", true),
        ("step_script", false),
        ("after_script", true),
        ("upload_artifacts_on_failure", true),
        ("cleanup_file_variables", true),
    ];
    assert_eq!(stages, expect.map(|(name, ok)| (name.to_owned(), ok)));
    assert_eq!(crate::support::kept(&store, 7, "archive"), ["core.log"]);
    let after = provider.commands().pop().expect("after_script ran");
    assert_eq!(after.variables.get("CI_JOB_STATUS"), Some("timedout"));
    provider.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn job_without_later_stages_has_its_whole_timeout() {
    let provider = ScriptedProvider::new();
    provider.on(
        BuildStage::script(),
        Directive::succeed().delay(Duration::from_secs(599)),
    );
    let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
    let job = job().timeout(600).with(|job| job.steps.truncate(1)).build();
    assert_eq!(
        bench.run(job).await.state,
        JobState::Success,
        "{}",
        bench.log()
    );
}

#[tokio::test(start_paused = true)]
async fn resumed_job_has_its_timeout_anew_or_the_rest_of_it() {
    let root = tempfile::tempdir().expect("a directory");
    let started_ago = |minutes| {
        let started_at = Timestamp::now() - SignedDuration::from_mins(minutes);
        note(json!({"started_at": started_at}))
    };
    let run = async |note: JobNote| {
        std::fs::create_dir_all(root.path().join("builds/project")).expect("a directory");
        let provider = ScriptedProvider::new();
        provider.set_workspace(local_workspace(root.path()));
        provider.on(BuildStage::script(), Directive::hang());
        let options = BuildRunnerOptions {
            resumed: vec![note],
            ..BuildRunnerOptions::default()
        };
        let bench = Bench::scripted(&provider, options);
        let begun = Instant::now();
        let job = job().timeout(3600).with(|job| job.steps.truncate(1));
        let outcome = bench.run(job.build()).await;
        let scripts = provider.commands();
        let mut scripts = scripts.iter().filter(|it| it.stage == BuildStage::script());
        let script = scripts.next().expect("the script ran");
        let started_at = script.variables.get("CI_JOB_STARTED_AT").map(str::to_owned);
        let error = outcome.error.expect("it timed out").to_string();
        assert_eq!(error, "execution took longer than 1h");
        (begun.elapsed(), outcome.duration, started_at)
    };
    let [minute, eleven, hour] = [1, 11, 60].map(Duration::from_mins);
    let fifty_minutes_ago = Timestamp::now() - SignedDuration::from_mins(50);
    let (waited, duration, started_at) = run(note(json!({"started_at": fifty_minutes_ago}))).await;
    assert_eq!(started_at, Some(format!("{fifty_minutes_ago:.0}")));
    assert!(waited >= hour && duration < hour + eleven, "{waited:?}");
    let now = Timestamp::now();
    let (waited, duration, _) = run(started_ago(50).counted_from_start(now)).await;
    assert!(waited < eleven && duration >= hour, "{waited:?}");
    // Its time is over, but its script may have ended before.
    let (waited, duration, _) = run(started_ago(90).counted_from_start(now)).await;
    let is_short = waited >= Duration::from_secs(10) && waited < minute;
    assert!(is_short && duration >= hour + 30 * minute, "{waited:?}");
    // As a note of an earlier version.
    let accepted_at = now - SignedDuration::from_mins(50);
    let (waited, _, _) = run(note(json!({})).counted_from_start(accepted_at)).await;
    assert!(waited < eleven, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn after_script_runs_after_script_timeout() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::script(), Directive::hang());
    let bench = Bench::scripted(&provider, with_git());
    let job = job()
        .variable(JobVariable::public("RUNNER_SCRIPT_TIMEOUT", "1m"))
        .build();
    let begun = Instant::now();
    let outcome = bench.run(job).await;
    assert_eq!(begun.elapsed(), Duration::from_mins(1));
    assert!(matches!(
        outcome.error.as_deref(),
        Some(BuildError::Timeout {
            phase: "script",
            ..
        })
    ));
    assert!(provider.stages().contains(&"after_script".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn step_timeout_ends_the_step() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::script(), Directive::hang());
    let bench = Bench::scripted(&provider, with_git());
    let outcome = bench
        .run(job().with(|job| job.steps[0].timeout = 30).build())
        .await;
    assert!(matches!(
        outcome.error.as_deref(),
        Some(BuildError::Timeout { phase: "step", .. })
    ));
    assert!(provider.stages().contains(&"after_script".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn after_script_has_its_own_timeout() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::AfterScript, Directive::hang());
    let bench = Bench::scripted(&provider, with_git());
    let begun = Instant::now();
    let outcome = bench.run(job().build()).await;
    assert_eq!(begun.elapsed(), Duration::from_mins(5));
    assert_eq!(outcome.state, JobState::Success);
    assert!(
        bench.log().contains("after_script took longer"),
        "{}",
        bench.log()
    );
}

#[tokio::test(start_paused = true)]
async fn prepare_and_get_sources_have_their_own_timeouts() {
    let check = async |moment: Moment, phase: &str, stages: &[&str]| {
        let provider = ScriptedProvider::new();
        provider.on(moment, Directive::hang());
        let mut bench = Bench::scripted(&provider, with_git());
        bench.config.prepare_timeout = Some(Duration::from_secs(40));
        bench.config.get_sources_timeout = Some(Duration::from_secs(50));
        let outcome = bench.run(job().build()).await;
        assert_eq!(
            outcome.failure_reason(),
            Some(FailureReason::JobExecutionTimeout)
        );
        let error = outcome.error.expect("it failed").to_string();
        assert!(error.starts_with(phase), "{error}");
        assert_eq!(provider.stages(), stages);
        provider.assert_obeyed();
    };
    check(Moment::Prepare, "prepare took", &[]).await;
    let stages = ["prepare_script", "get_sources"];
    check(BuildStage::GetSources.into(), "get_sources took", &stages).await;
}

#[tokio::test(start_paused = true)]
async fn sources_are_retried_in_a_clean_tree() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::GetSources, Directive::exit(128).times(2));
    let bench = Bench::scripted(&provider, with_git());
    let job = job()
        .variable(JobVariable::public("GET_SOURCES_ATTEMPTS", "3"))
        .build();
    let begun = Instant::now();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert_eq!(begun.elapsed(), Duration::from_secs(5 + 10));
    assert_eq!(
        provider.stages()[1..6],
        [
            "get_sources",
            "clear_worktree",
            "get_sources",
            "get_sources",
            "step_script"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn sources_that_a_driver_could_not_fetch_are_retried() {
    // R-EXEC-102
    let provider = ScriptedProvider::new();
    let reported = || BuildError::Recorded {
        reason: FailureReason::ScriptFailure,
        exit_code: Some(ExitCode(1)),
        message: "the driver reports a failure".to_owned(),
    };
    provider.on(
        BuildStage::GetSources,
        Directive::fail(Failure::with(reported)),
    );
    let bench = Bench::scripted(&provider, with_git());
    let job = job()
        .variable(JobVariable::public("GET_SOURCES_ATTEMPTS", "2"))
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.failure_reason(), Some(FailureReason::ScriptFailure));
    assert_eq!(outcome.exit_code(), Some(ExitCode(1)));
    assert_eq!(
        provider.stages()[1..],
        [
            "get_sources",
            "clear_worktree",
            "get_sources",
            "cleanup_file_variables"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_sources_no_script_runs() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::GetSources, Directive::exit(128));
    let bench = Bench::scripted(&provider, with_git());
    let outcome = bench.run(job().build()).await;
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::RunnerSystemFailure)
    );
    assert_eq!(
        provider.stages(),
        ["prepare_script", "get_sources", "cleanup_file_variables"]
    );
}

#[tokio::test(start_paused = true)]
async fn attempts_out_of_range_are_warnings() {
    let provider = ScriptedProvider::new();
    provider.on(
        BuildStage::GetSources,
        Directive::fail(Failure::temporary("connection reset")),
    );
    let bench = Bench::scripted(&provider, with_git());
    let job = job()
        .variable(JobVariable::public("GET_SOURCES_ATTEMPTS", "99"))
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Failed);
    let tries = provider
        .stages()
        .iter()
        .filter(|it| *it == "get_sources")
        .count();
    assert_eq!(tries, 10);
    assert!(
        bench.log().contains("GET_SOURCES_ATTEMPTS is 99"),
        "{}",
        bench.log()
    );
}

#[tokio::test(start_paused = true)]
async fn hanging_cleanup_is_abandoned() {
    let provider = ScriptedProvider::new();
    provider.on(Moment::Cleanup, Directive::hang());
    let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
    let outcome = bench.run(job().build()).await;
    assert_eq!(outcome.state, JobState::Success);
    assert!(
        bench.log().contains("cleanup took longer"),
        "{}",
        bench.log()
    );
}

#[tokio::test(start_paused = true)]
async fn abort_ends_a_hanging_cleanup() {
    let provider = ScriptedProvider::new();
    provider.on(Moment::Cleanup, Directive::hang());
    let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
    let started = Instant::now();
    let abort = async {
        let timeline = provider.timeline();
        timeline.wait_for_line("executor(1).cleanup").await;
        bench.cancellation.cancel(CancelCause::User);
        tokio::time::sleep(Duration::from_secs(20)).await;
        bench.cancellation.abort(CancelCause::User);
    };
    tokio::join!(bench.run(job().build()), abort);
    assert_eq!(started.elapsed().as_secs(), 20);
    let log = bench.log();
    assert!(log.contains("still cleaning up after 10s"), "{log}");
    assert!(log.contains("the job's environment may remain"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn step_is_retried_after_environment_failure_on_request() {
    let check = async |attempts: &str, runs: usize, state: JobState| {
        let provider = ScriptedProvider::new();
        let broken = Directive::fail(Failure::temporary("the container vanished"));
        provider.on(BuildStage::script(), broken.times(1));
        let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
        let variable = JobVariable::public("EXECUTOR_JOB_SECTION_ATTEMPTS", attempts);
        let outcome = bench.run(job().variable(variable).build()).await;
        assert_eq!(outcome.state, state, "{attempts} attempts: {}", bench.log());
        let stages = provider.stages();
        let ran = stages.iter().filter(|name| *name == "step_script").count();
        assert_eq!(ran, runs, "{attempts} attempts");
    };
    check("1", 1, JobState::Failed).await;
    check("2", 2, JobState::Success).await;
}
