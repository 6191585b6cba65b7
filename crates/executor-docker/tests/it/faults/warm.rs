//! Warm containers that became unusable.

use super::faulty_socket::{FaultySocket, SocketFault};
use crate::support::engine;
use crate::support::runner::{BUSYBOX, Opened, Run, job, leftovers_of, log_text, settings};
use bollard::query_parameters::{KillContainerOptions, RemoveContainerOptions};
use executor_core::prelude::*;
use executor_docker::Engine;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::garbage::sweep;
use executor_testkit::{OptionsBuilder, RecordingTrace};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const WARM_LINE: &str = "Using a warm container.";
const UNUSABLE_LINE: &str = "A warm container is unusable: ";

fn warm() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Agent,
        warm: 1,
        ..settings()
    }
}

/// Runs a job and returns the name of the container that is ready for the next one.
async fn fill(run: &Run) -> String {
    let mut first = run.open(job(BUSYBOX)).await;
    first.executor.cleanup().await.unwrap();
    run.provider.settled().await;
    let left = leftovers_of(&run.owner).await;
    let name = left.iter().find_map(|it| it.split('"').nth(1));
    name.expect("one is ready")
        .trim_start_matches('/')
        .to_owned()
}

async fn runs_anew(run: &Run, what: &str) -> Opened {
    let mut opened = run.open(job(BUSYBOX)).await;
    assert!(!log_text(&opened.trace).contains(WARM_LINE), "{what}");
    assert_eq!(opened.print("echo it runs").await, "it runs\n", "{what}");
    opened
}

async fn end(run: &Run, opened: &mut Opened, what: &str) {
    opened.executor.cleanup().await.unwrap();
    let ended = run.provider.shutdown(Duration::from_secs(30)).await;
    ended.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new(), "{what}");
    let private = std::fs::read_dir(run.directory.path().join(".tmp"));
    let private: Vec<PathBuf> = private.unwrap().flatten().map(|it| it.path()).collect();
    assert!(private.is_empty(), "{what}: {private:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_silent_removed_or_paused_one_is_not_used() {
    type Harming = fn(Engine, String) -> futures_util::future::BoxFuture<'static, ()>;
    let count: [(&str, Harming); 4] = [
        ("killed", |engine, name| {
            Box::pin(async move {
                let none = None::<KillContainerOptions>;
                engine.api().kill_container(&name, none).await.unwrap();
            })
        }),
        ("silent", |engine, name| {
            Box::pin(async move {
                let stop = KillContainerOptions {
                    signal: "SIGSTOP".to_owned(),
                };
                let stopped = engine.api().kill_container(&name, Some(stop));
                stopped.await.unwrap();
            })
        }),
        ("removed", |engine, name| {
            Box::pin(async move {
                let options = RemoveContainerOptions {
                    force: true,
                    ..RemoveContainerOptions::default()
                };
                let removed = engine.api().remove_container(&name, Some(options));
                removed.await.unwrap();
            })
        }),
        ("paused", |engine, name| {
            Box::pin(async move { engine.api().pause_container(&name).await.unwrap() })
        }),
    ];
    for (what, fault) in count {
        let run = Run::new(warm());
        let name = fill(&run).await;
        fault(engine().await, name).await;
        let mut opened = runs_anew(&run, what).await;
        end(&run, &mut opened, what).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_with_replaced_directories_is_not_used() {
    let run = Run::new(warm());
    fill(&run).await;
    let builds = std::fs::read_dir(run.directory.path()).unwrap().flatten();
    let builds = builds.map(|it| it.path()).find(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        !name.starts_with('.')
    });
    std::fs::remove_dir_all(builds.unwrap()).unwrap();
    let mut opened = runs_anew(&run, "replaced").await;
    end(&run, &mut opened, "replaced").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_claim_creates_another_container() {
    for when in [SocketFault::Before, SocketFault::After] {
        let faulty = FaultySocket::new();
        let run = Run::new(DockerConfig {
            host: Some(faulty.address()),
            ..warm()
        });
        fill(&run).await;
        faulty.inject("POST /rename", when, 1);
        let mut opened = run.open(job(BUSYBOX)).await;
        assert_eq!(faulty.remaining_faults(), 0);
        let log = log_text(&opened.trace);
        assert!(
            log.contains(UNUSABLE_LINE) && !log.contains(WARM_LINE),
            "{log}"
        );
        assert_eq!(opened.print("echo it runs").await, "it runs\n");
        end(&run, &mut opened, "renamed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_claim_is_awaited() {
    let faulty = FaultySocket::new();
    let run = Run::new(DockerConfig {
        host: Some(faulty.address()),
        ..warm()
    });
    fill(&run).await;
    faulty.inject("POST /rename", SocketFault::Slow(6), 1);
    let mut opened = run.open(job(BUSYBOX)).await;
    assert_eq!(faulty.remaining_faults(), 0);
    let log = log_text(&opened.trace);
    assert!(log.contains(WARM_LINE), "{log}");
    end(&run, &mut opened, "late").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_stopped_while_it_claims_one_leaves_nothing() {
    for when in [SocketFault::Deaf, SocketFault::Late(0)] {
        let faulty = FaultySocket::new();
        let run = Run::new(DockerConfig {
            host: Some(faulty.address()),
            ..warm()
        });
        fill(&run).await;
        faulty.inject("POST /rename", when, 1);
        let cancellation = Cancellation::new();
        let mut executor = run.provider.create(&ExecutorData::new()).unwrap();
        let trace = RecordingTrace::new();
        let options = OptionsBuilder::new()
            .config(run.config.clone())
            .job(job(BUSYBOX))
            .trace(Arc::new(trace.clone()))
            .build();
        let stop = async {
            let done = tokio::time::timeout(Duration::from_mins(1), faulty.done(1)).await;
            done.expect("it is taken");
            cancellation.cancel(CancelCause::User);
        };
        let (prepared, ()) = tokio::join!(executor.prepare(options, &cancellation), stop);
        let error = prepared.unwrap_err();
        let is_stopped = matches!(error, BuildError::Canceled(CancelCause::User));
        assert!(is_stopped, "{when:?}: {}", error.chain());
        executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new(), "{when:?}");
        let ended = run.provider.shutdown(Duration::from_secs(30)).await;
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_death_event_the_cleanup_waits_for_the_removal() {
    for when in [SocketFault::Before, SocketFault::Deaf] {
        let faulty = FaultySocket::new();
        let run = Run::new(DockerConfig {
            host: Some(faulty.address()),
            ..warm()
        });
        let mut opened = runs_anew(&run, "the first").await;
        run.provider.settled().await;
        assert_eq!(run.leftovers().await.len(), 2, "the job's and the next one");
        faulty.inject("GET die", when, 1);
        opened.executor.cleanup().await.unwrap();
        assert_eq!(faulty.remaining_faults(), 0, "{when:?}");
        let left = run.leftovers().await;
        assert!(
            left.len() == 1 && left[0].contains("-warm-"),
            "{when:?}: {left:?}"
        );
        end(&run, &mut opened, "twice").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_does_not_wait_for_the_removal_of_a_dead_container() {
    let faulty = FaultySocket::new();
    let run = Run::new(DockerConfig {
        host: Some(faulty.address()),
        ..warm()
    });
    let mut opened = runs_anew(&run, "the first").await;
    run.provider.settled().await;
    // The engine removes it, and the response is lost.
    faulty.inject("DELETE /containers", SocketFault::Deaf, 1);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(faulty.remaining_faults(), 0);
    // A second cleanup does nothing.
    opened.executor.cleanup().await.unwrap();
    let ended = run.provider.shutdown(Duration::from_secs(5)).await;
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("not removed yet"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_cleanup_can_be_repeated() {
    let faulty = FaultySocket::new();
    let run = Run::new(DockerConfig {
        host: Some(faulty.address()),
        ..warm()
    });
    let mut opened = runs_anew(&run, "the first").await;
    run.provider.settled().await;
    faulty.freeze(true);
    let cleanup = opened.executor.cleanup();
    let given_up = tokio::time::timeout(Duration::from_millis(300), cleanup).await;
    assert!(given_up.is_err(), "the engine says nothing");
    faulty.freeze(false);
    end(&run, &mut opened, "asked for again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_removal_is_finished_by_the_next_run() {
    let faulty = FaultySocket::new();
    let run = Run::new(DockerConfig {
        host: Some(faulty.address()),
        ..warm()
    });
    let mut opened = runs_anew(&run, "the first").await;
    run.provider.settled().await;
    faulty.inject("DELETE /containers", SocketFault::Late(1 << 40), 1);
    let removing = async {
        let done = tokio::time::timeout(Duration::from_mins(1), faulty.done(1)).await;
        done.expect("the removal is asked for");
    };
    tokio::select! {
        ended = opened.executor.cleanup() => panic!("nothing is dead: {ended:?}"),
        () = removing => {}
    }
    // Like a killed process, this abandons the work in progress.
    let owner = run.owner.clone();
    drop(opened);
    drop(run);
    assert_eq!(
        leftovers_of(&owner).await.len(),
        2,
        "the job's and the next one"
    );
    let swept = sweep(&engine().await, |other| other.owner != owner).await;
    let swept = swept.unwrap();
    assert_eq!(swept.failures, Vec::<String>::new());
    assert_eq!(swept.containers.len(), 2, "{swept:?}");
    assert_eq!(leftovers_of(&owner).await, Vec::<String>::new());
}
