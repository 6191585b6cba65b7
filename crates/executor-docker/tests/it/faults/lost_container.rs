//! The container of a job is stopped, killed or removed during a stage.

use crate::support::runner::{BUSYBOX, Run, job, settings};
use crate::support::{engine, in_time};
use bollard::query_parameters::{
    KillContainerOptions, RemoveContainerOptions, RestartContainerOptions, StopContainerOptions,
};
use executor_core::prelude::*;
use executor_core::{CancelCause, FailureReason};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;
use std::time::{Duration, Instant};

/// The limit for two jobs with a restart, from creation to cleanup: less than the grace period of the restart.
const PROMPT: Duration = Duration::from_secs(55);

#[derive(Debug, Clone, Copy)]
enum Deed {
    Remove,
    Kill,
    Stop,
    Restart,
}

async fn done(deed: Deed, container: &str) {
    let engine = engine().await;
    let api = engine.api();
    let done = match deed {
        Deed::Remove => {
            let options = RemoveContainerOptions {
                force: true,
                ..RemoveContainerOptions::default()
            };
            api.remove_container(container, Some(options)).await
        }
        Deed::Kill => {
            let options = None::<KillContainerOptions>;
            api.kill_container(container, options).await
        }
        Deed::Stop => {
            // The main process has time to end gracefully.
            let options = StopContainerOptions {
                t: Some(1),
                ..StopContainerOptions::default()
            };
            api.stop_container(container, Some(options)).await
        }
        Deed::Restart => {
            // The main process ends before.
            let options = RestartContainerOptions {
                t: Some(60),
                ..RestartContainerOptions::default()
            };
            api.restart_container(container, Some(options)).await
        }
    };
    done.unwrap();
}

async fn check(choice: EngineChoice, deed: Deed, words: &str) {
    let run = Run::new(DockerConfig {
        engine: choice,
        ..settings()
    });
    let mut opened = run.open(job(BUSYBOX)).await;
    let container = opened.environment.hostname.clone();
    let trace = opened.trace.clone();
    let command = CommandBuilder::new("echo ready; sleep 1000").working_dir("/");
    let harm = async {
        trace.wait_for(TraceStream::STDOUT, "ready").await;
        done(deed, &container).await;
    };
    let (ran, ()) = tokio::join!(in_time(opened.run(command)), harm);
    let error = ran.unwrap_err();
    let message = error.chain();
    assert!(message.contains(words), "{choice:?}, {deed:?}: {message}");
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    assert!(!error.is_temporary(), "{choice:?}, {deed:?}: {message}");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(
        run.leftovers().await,
        Vec::<String>::new(),
        "{choice:?}, {deed:?}"
    );
}

async fn check_both(deed: Deed, words: &str) {
    tokio::join!(
        check(EngineChoice::Exec, deed, words),
        check(EngineChoice::Agent, deed, words)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_removed() {
    check_both(Deed::Remove, "is lost: ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_killed() {
    check_both(Deed::Kill, "its main process was killed (exit code 137)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_stopped() {
    check_both(Deed::Stop, "is lost: its main process").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_restarted() {
    let begun = Instant::now();
    // Whether the end is noticed before the new start is a matter of time.
    check_both(Deed::Restart, "is lost: it").await;
    assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
}

/// Pauses a container. The engine may not succeed at once while processes begin in it.
async fn pause(container: &str) {
    let engine = engine().await;
    for _ in 0..20 {
        match engine.api().pause_container(container).await {
            Ok(()) => return,
            Err(error) => assert!(error.to_string().contains("unable to freeze"), "{error}"),
        }
    }
    panic!("the engine does not pause the container");
}

/// Pauses the container during a stage of some seconds, does something, and returns the result of the stage and its output.
async fn while_paused(
    choice: EngineChoice,
    seconds: u64,
    meanwhile: impl AsyncFnOnce(&str, &Cancellation),
) -> (Result<StageResult, BuildError>, String) {
    let mut run = Run::new(DockerConfig {
        engine: choice,
        ..settings()
    });
    // A busy machine needs some time for the trap.
    run.config.graceful_kill_timeout = Duration::from_secs(20);
    let mut opened = run.open(job(BUSYBOX)).await;
    opened.trace.clear();
    let container = opened.environment.hostname.clone();
    let (trace, cancellation) = (opened.trace.clone(), Cancellation::new());
    let script =
        format!("trap 'echo stopped; exit 3' TERM; echo ready; sleep {seconds}; echo done; exit 7");
    let pausing = async {
        trace.wait_for(TraceStream::STDOUT, "ready").await;
        pause(&container).await;
        meanwhile(&container, &cancellation).await;
    };
    let (ran, ()) = tokio::join!(
        in_time(opened.run_until(CommandBuilder::new(script), &cancellation)),
        pausing
    );
    let output = trace.text(TraceStream::STDOUT);
    // Later stages find a container that runs.
    assert_eq!(opened.print("echo after").await, "after\n", "{choice:?}");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    (ran, output)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_container_continues() {
    let check = async |choice| {
        let (ran, output) = while_paused(choice, 1, async |container, _| {
            // Longer than the script has left.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let engine = engine().await;
            engine.api().unpause_container(container).await.unwrap();
        })
        .await;
        assert_eq!(ran.unwrap().status.exit_code(), ExitCode(7), "{choice:?}");
        assert_eq!(output, "ready\ndone\n", "{choice:?}");
    };
    tokio::join!(check(EngineChoice::Exec), check(EngineChoice::Agent));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stage_in_a_paused_container_can_be_canceled() {
    let check = async |choice| {
        let (ran, output) = while_paused(choice, 60, async |_, cancellation| {
            cancellation.cancel(CancelCause::User);
        })
        .await;
        let error = ran.unwrap_err();
        let canceled = matches!(error, BuildError::Canceled(CancelCause::User));
        assert!(canceled, "{choice:?}: {}", error.chain());
        assert_eq!(output, "ready\nstopped\n", "{choice:?}");
    };
    tokio::join!(check(EngineChoice::Exec), check(EngineChoice::Agent));
}
