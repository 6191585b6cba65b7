//! Jobs that another process continues.

use crate::support::run::{Opened, config, open, options, prepare_options, runner_config};
use crate::support::sshd::Sshd;
use executor_core::ability::ResumeHandle;
use executor_core::prelude::*;
use executor_core::{StageStatus, TraceStream};
use executor_ssh::{EngineChoice, SshConfig, provider};
use executor_testkit::RecordingTrace;
use std::fs;

/// Prepares the job that a handle names.
async fn resume(config: SshConfig, handle: &ResumeHandle) -> Result<Opened, BuildError> {
    let provider = provider(options(config));
    let never = Cancellation::new();
    let data = provider.acquire(&runner_config(), &never).await;
    let data = data.unwrap().with(handle.clone());
    let mut executor = provider.create(&data).unwrap();
    let trace = RecordingTrace::new();
    let environment = executor.prepare(prepare_options(&trace), &never).await?;
    Ok(Opened {
        executor,
        trace,
        environment,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn job_goes_on_in_its_directory_without_a_gap_and_without_running_twice() {
    // R-STEP-54
    let server = Sshd::start();
    let settings = config(&server, server.port, EngineChoice::Agent);
    let mut first = open(settings.clone()).await.unwrap();
    let (ran, go) = (server.path("ran"), server.path("go"));
    let once = format!("echo x >>{}", ran.display());
    let script = format!(
        "{once}; seq 1 50; until [ -e {} ]; do sleep 0.02; done; seq 51 100",
        go.display()
    );
    first.run(&once).await.unwrap();
    let resumable = first.executor.abilities().resumable.unwrap();
    let trace = first.trace.clone();
    tokio::select! {
        ended = first.run(&script) => panic!("{ended:?}"),
        () = trace.wait_for(TraceStream::STDOUT, "\n50\n") => {}
    }
    // As a kill: nothing is cleaned up.
    drop(first);
    let handle = resumable.resume_handle().unwrap();
    fs::write(&go, "").unwrap();
    let mut second = resume(settings.clone(), &handle).await.unwrap();
    for script in [&once, &script] {
        let ended = second.run(script).await.unwrap();
        assert_eq!(ended.status, StageStatus::Exited(ExitCode(0)));
    }
    let output = trace.text(TraceStream::STDOUT) + &second.output();
    let lines: Vec<u32> = output.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(lines, (1..=100).collect::<Vec<_>>());
    assert_eq!(fs::read_to_string(&ran).unwrap().lines().count(), 2);
    second.executor.cleanup().await.unwrap();
    let text = |ended: Result<Opened, BuildError>| ended.err().unwrap().to_string();
    let gone = text(resume(settings.clone(), &handle).await);
    assert!(gone.contains("the job is gone"), "{gone}");
    let moved = SshConfig {
        user: Some("other".to_owned()),
        ..settings
    };
    let unknown = text(resume(moved, &handle).await);
    assert!(unknown.contains("do not name any more"), "{unknown}");
}
