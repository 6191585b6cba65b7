//! The container of a job is stopped, killed or removed during a stage.

use crate::support::runner::{BUSYBOX, Run, job, settings};
use crate::support::{engine, in_time};
use bollard::query_parameters::{
    KillContainerOptions, RemoveContainerOptions, StopContainerOptions,
};
use executor_core::FailureReason;
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;

#[derive(Debug, Clone, Copy)]
enum Deed {
    Remove,
    Kill,
    Stop,
    Pause,
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
        Deed::Pause => api.pause_container(container).await,
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
async fn it_is_paused() {
    check_both(Deed::Pause, "is lost: it was paused from outside").await;
}
