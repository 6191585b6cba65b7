//! Jobs whose runner died and that are not resumed.

use crate::support::engine;
use crate::support::runner::{BUSYBOX, Run, job, log_text, settings};
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::garbage::sweep;
use executor_testkit::CommandBuilder;
use std::time::Duration;
use tokio::time::{sleep, timeout};

#[tokio::test(flavor = "multi_thread")]
async fn an_orphaned_job_ends_with_its_container() {
    // R-EXEC-68
    let run = Run::remote(DockerConfig {
        engine: EngineChoice::Agent,
        orphan_grace: 20,
        ..settings()
    });
    let mut opened = run.open(job(BUSYBOX)).await;
    let (container, trace) = (opened.environment.hostname.clone(), opened.trace.clone());
    let begun = async {
        while !trace.text(TraceStream::STDOUT).contains("it runs") {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let hangs = CommandBuilder::new("echo it runs; while true; do sleep 1; done");
    tokio::select! {
        ended = opened.run(hangs) => panic!("it hangs: {ended:?}; log: {}", log_text(&trace)),
        () = begun => {}
    }
    // Like a killed process, this cleans up nothing.
    drop(opened);
    let engine = engine().await;
    let ended = async {
        loop {
            let found = engine.api().inspect_container(&container, None).await;
            let state = found.unwrap().state.unwrap();
            if state.running == Some(false) {
                return state.exit_code;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    let code = timeout(Duration::from_mins(2), ended).await;
    assert_eq!(code.expect("it ends by itself"), Some(0));
    let owner = run.owner.clone();
    let swept = sweep(&engine, |it| it.owner != owner).await.unwrap();
    assert_eq!(swept.failures, Vec::<String>::new());
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}
