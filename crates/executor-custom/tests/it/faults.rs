//! Drivers that misbehave.

use crate::driver::{TestDriver, job};
use executor_core::job::Image;
use executor_core::trace::TraceStream;
use executor_core::{CancelCause, FailureReason, JobState, JobVariable};
use std::time::{Duration, Instant};

/// Less than the time that a hanging call would take.
const SOON: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn hanging_calls_are_ended_in_every_phase() {
    let check = |call: &'static str, hang: &'static str| async move {
        let mut driver = TestDriver::new();
        let limit = Some(Duration::from_millis(200));
        driver.config.graceful_kill_timeout = limit;
        // Only the planned call hangs, whatever the machine's load is.
        match call {
            "config" => driver.config.config_exec_timeout = limit,
            "prepare" => driver.config.prepare_exec_timeout = limit,
            _ => driver.config.cleanup_exec_timeout = limit,
        }
        driver.plan(call, &format!("{hang}; sleep 600 & wait; exit 0"));
        let begun = Instant::now();
        let outcome = driver.run(job().build()).await;
        assert!(begun.elapsed() < SOON, "{call}: {hang}");
        let log = driver.log();
        if call == "cleanup" {
            assert_eq!(outcome.state, JobState::Success, "{log}");
            assert!(log.contains("failed to clean up"), "{log}");
        } else {
            assert_eq!(
                outcome.failure_reason(),
                Some(FailureReason::RunnerSystemFailure),
                "{log}"
            );
            assert!(
                log.contains(&format!("the limit of {call}_exec_timeout")),
                "{log}"
            );
            assert_eq!(log.matches("failed to prepare").count(), 2, "{log}");
        }
        driver.assert_nothing_left();
    };
    for call in ["config", "prepare", "cleanup"] {
        for hang in [":", "trap '' TERM", "trap 'exit 0' TERM"] {
            check(call, hang).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_reaches_the_active_call() {
    for (call, follows) in [
        ("config", 1),
        ("prepare", 1),
        ("run.prepare_script", 1),
        // after_script, cleanup_file_variables, cleanup
        ("run.build_script", 3),
    ] {
        let driver = TestDriver::new();
        let lines =
            "trap 'touch \"$directory/term\"; exit 1' TERM; echo at work >&2; sleep 600 & wait";
        driver.plan(call, lines);
        let stop = async {
            driver
                .observer
                .output()
                .wait_for(TraceStream::STDERR, "at work")
                .await;
            driver.cancellation.cancel(CancelCause::User);
        };
        let (outcome, ()) = tokio::join!(driver.run(job().build()), stop);
        assert_eq!(
            outcome.state,
            JobState::Canceled,
            "{call}: {}",
            driver.log()
        );
        assert!(driver.path().join("term").exists(), "{call} got no SIGTERM");
        let names = driver.names();
        let at = names.iter().position(|name| name == call).unwrap();
        assert_eq!(names.len() - at - 1, follows, "{call}: {names:?}");
        assert_eq!(names.last().map(String::as_str), Some("cleanup"));
        driver.assert_nothing_left();
    }
}

/// GitLab Runner says nothing, and the jobs overwrite each other's files.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_jobs_in_one_directory_are_warned_of() {
    for (directory, config, is_warned) in [
        ("builds", "", true),
        ("builds/$CI_CONCURRENT_PROJECT_ID", "", false),
        ("builds", "{\"builds_dir_is_shared\": false}", false),
        ("builds", "{\"builds_dir\": \"/builds\"}", false),
    ] {
        let mut driver = TestDriver::new();
        driver.slot.concurrent_project_id = 1;
        driver.runner.builds_dir = Some(format!("{}/{directory}", driver.path().display()));
        driver.plan("config", &format!("echo '{config}'"));
        let outcome = driver.run(job().build()).await;
        let log = driver.log();
        assert_eq!(outcome.state, JobState::Success, "{log}");
        let warning = "jobs that run at the same time share the directories below builds_dir";
        assert_eq!(log.contains(warning), is_warned, "{config}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_config_is_shown_where_it_is_wrong() {
    let driver = TestDriver::new();
    driver.plan("config", "echo 'board 7 is ready'");
    driver.run(job().build()).await;
    let log = driver.log();
    let quoted = "one JSON object: expected value at line 1 column 1; it is \"board 7 is ready\"";
    assert!(log.contains(quoted), "{log}");

    let driver = TestDriver::new();
    driver.plan("config", "echo '{\"builds_dirr\": \"/b\"}'");
    let outcome = driver.run(job().build()).await;
    let log = driver.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    let warning = "config_exec printed the key \"builds_dirr\", which has no meaning: expected one of builds_dir, ";
    assert!(log.contains(warning), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_output_of_config_is_not_kept() {
    // Bad input 37: 1 GB where a few bytes are expected.
    let driver = TestDriver::new();
    driver.plan(
        "config",
        "trap '' TERM; head -c 1000000000 /dev/zero; exit 0",
    );
    let outcome = driver.run(job().build()).await;
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::RunnerSystemFailure)
    );
    let log = driver.log();
    assert!(log.contains("it is longer than 1048576 bytes"), "{log}");
    assert_eq!(driver.names(), ["config", "cleanup"].repeat(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn background_process_holds_output_only_for_a_while() {
    let driver = TestDriver::new();
    driver.plan("prepare", "sleep 600 & echo $! >pid; exit 0");
    driver.plan(
        "run.build_script",
        "kill -0 $(cat pid) && echo lives; exit 0",
    );
    driver.plan(
        "cleanup",
        "kill -0 $(cat pid) && touch \"$directory/lived\"; exit 0",
    );
    let begun = Instant::now();
    let outcome = driver.run(job().build()).await;
    assert!(begun.elapsed() < SOON);
    assert_eq!(outcome.state, JobState::Success, "{}", driver.log());
    let output = driver.observer.output().text(TraceStream::STDOUT);
    assert!(output.contains("lives"), "ended with its call: {output}");
    assert!(
        driver.path().join("lived").exists(),
        "ended before the cleanup"
    );
    driver.assert_nothing_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_streams_do_not_end_a_call() {
    let driver = TestDriver::new();
    driver.plan(
        "prepare",
        "exec <&- >&- 2>&-; sleep 0.2; touch \"$directory/done\"; exit 0",
    );
    let outcome = driver.run(job().build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", driver.log());
    assert!(driver.path().join("done").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_programs_are_named() {
    let refused = |change: fn(&mut TestDriver)| async move {
        let mut driver = TestDriver::new();
        change(&mut driver);
        let outcome = driver.run(job().build()).await;
        let error = outcome.error.expect("it failed");
        (error.failure_reason(), error.chain(), driver.names())
    };
    let (reason, error, calls) = refused(|it| it.config.run_exec.clear()).await;
    assert_eq!(reason, FailureReason::RunnerConfigurationError);
    assert!(error.contains("run_exec is not set"), "{error}");
    assert!(calls.is_empty());

    let (reason, error, calls) =
        refused(|it| it.config.prepare_exec = "no-such-driver".to_owned()).await;
    assert_eq!(reason, FailureReason::RunnerSystemFailure);
    let expect =
        "custom: start prepare_exec \"no-such-driver\": program \"no-such-driver\" not found";
    assert_eq!(error, expect);
    assert_eq!(calls, ["config", "cleanup"], "no retry can help");

    let (_, error, calls) = refused(|it| {
        let file = it.path().join("prepare.sh");
        std::fs::write(&file, "#!/bin/sh\n").expect("written");
        it.config.prepare_exec = file.display().to_string();
    })
    .await;
    assert!(error.contains("Permission denied"), "{error}");
    assert_eq!(calls, ["config", "cleanup"], "no retry can help");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_that_do_not_fit_are_named() {
    let driver = TestDriver::new();
    for stage in ["prepare_script", "build_script"] {
        driver.plan(&format!("run.{stage}"), "bash \"$4\"; exit");
    }
    let large = "x".repeat(200_000);
    let job = job()
        .script(["test \"$(wc -c <\"$LONG\")\" = 200000"])
        .variable(JobVariable::file("LONG", large))
        .variable(JobVariable::public("odd.name", "odd"))
        .build();
    let mut job = job;
    job.steps.remove(0);
    job.services.push(Image {
        command: vec!["x".repeat(200_000)],
        ..Image::default()
    });
    let outcome = driver.run(job).await;
    let log = driver.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert_eq!(
        log.matches("variable LONG does not fit").count(),
        1,
        "{log}"
    );
    assert!(
        log.contains("variable CI_JOB_SERVICES does not fit"),
        "{log}"
    );
    assert_eq!(
        log.matches("variable odd.name cannot be exported").count(),
        1,
        "{log}"
    );
    let calls = driver.calls();
    assert_eq!(calls[0].environ["CUSTOM_ENV_odd.name"], "odd");
    assert!(!calls[0].environ.contains_key("CUSTOM_ENV_LONG"));
}
