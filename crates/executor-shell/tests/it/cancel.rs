use crate::support::{Fixture, config, config_without_cgroups, living, unique_seconds};
use executor_core::prelude::*;
use executor_shell::ShellConfig;
use std::time::Duration;

/// Runs a script, stops it once it has written `ready`, and returns the result of `run`.
async fn stopped(
    fixture: &mut Fixture,
    script: &str,
    stop: impl FnOnce(&Cancellation),
) -> Result<StageResult, BuildError> {
    let cancellation = Cancellation::new();
    let command = fixture.command(script);
    let log = Arc::clone(&fixture.log);
    let run = fixture.executor.run(command, &cancellation);
    let (result, ()) = tokio::join!(run, async {
        log.wait_for("ready").await;
        stop(&cancellation);
    });
    result
}

fn cancel(cancellation: &Cancellation) {
    cancellation.cancel(CancelCause::User);
}

fn abort(cancellation: &Cancellation) {
    cancellation.abort(CancelCause::Shutdown);
}

#[tokio::test]
async fn cancel_lets_the_script_handle_sigterm() {
    let mut fixture = Fixture::new(config()).await;
    let script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let result = stopped(&mut fixture, script, cancel).await;
    assert!(
        matches!(result, Err(BuildError::Canceled(CancelCause::User))),
        "{result:?}"
    );
    assert_eq!(fixture.log.stdout(), "ready\nbye\n");
}

#[tokio::test]
async fn cancel_leaves_no_orphan() {
    // R-EXEC-50
    for config in [config(), config_without_cgroups()] {
        let mut fixture = Fixture::new(config).await;
        let seconds = unique_seconds();
        let script = format!("setsid -f sleep {seconds}; sleep {seconds} & echo ready; wait");
        let result = stopped(&mut fixture, &script, cancel).await;
        assert!(matches!(result, Err(BuildError::Canceled(_))), "{result:?}");
        assert_eq!(living(&seconds), 0);
        // The environment still works for `after_script`.
        assert_eq!(fixture.output("echo after").await, "after\n");
    }
}

#[tokio::test]
async fn process_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let impatient = |runner: &mut RunnerConfig| {
        runner.graceful_kill_timeout = Duration::from_millis(100);
    };
    let mut fixture = Fixture::with_runner(config(), impatient).await;
    let seconds = unique_seconds();
    let script = format!("trap '' TERM; sleep {seconds} & echo ready; while :; do wait; done");
    let result = stopped(&mut fixture, &script, cancel).await;
    assert!(matches!(result, Err(BuildError::Canceled(_))), "{result:?}");
    assert_eq!(living(&seconds), 0);
}

#[tokio::test]
async fn abort_kills_at_once() {
    let patient = |runner: &mut RunnerConfig| {
        runner.graceful_kill_timeout = Duration::from_hours(24);
    };
    let mut fixture = Fixture::with_runner(
        ShellConfig {
            login: false,
            ..config()
        },
        patient,
    )
    .await;
    let seconds = unique_seconds();
    let script =
        format!("trap 'echo bye' TERM; sleep {seconds} & echo ready; while :; do wait; done");
    let result = stopped(&mut fixture, &script, abort).await;
    assert!(
        matches!(result, Err(BuildError::Canceled(CancelCause::Shutdown))),
        "{result:?}"
    );
    assert_eq!(fixture.log.stdout(), "ready\n");
    assert_eq!(living(&seconds), 0);
}

#[tokio::test]
async fn cancelled_stage_does_not_start() {
    let mut fixture = Fixture::new(config()).await;
    let cancellation = Cancellation::new();
    abort(&cancellation);
    let result = fixture
        .executor
        .run(fixture.command("echo began"), &cancellation)
        .await;
    assert!(
        matches!(result, Err(BuildError::Canceled(CancelCause::Shutdown))),
        "{result:?}"
    );
    assert_eq!(fixture.log.stdout(), "");
}
