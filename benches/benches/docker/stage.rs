//! A stage, against the restart of a container with the script on its stdin.
//!
//! The restart replays what GitLab Runner does for each stage: inspect, attach, start, the script, wait.

use crate::means::{IMAGE, Opened, against, engine, heading, row};
use anyhow::Context as _;
use benches::statistics::ratio;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    AttachContainerOptions, CreateContainerOptions, RemoveContainerOptions, WaitContainerOptions,
};
use executor_docker::Engine;
use executor_docker::config::EngineChoice;
use executor_testkit::RecordingTrace;
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;

const ROUNDS: usize = 25;
const AGENT: f64 = 0.05;
const EXEC: f64 = 0.4;
const SCRIPT: &str = "echo done\n";

pub(crate) async fn measure() -> anyhow::Result<()> {
    let engine = engine().await?;
    let trace = || Arc::new(RecordingTrace::new());
    let mut agent = Opened::new(EngineChoice::Agent, false, trace()).await?;
    let mut exec = Opened::new(EngineChoice::Exec, false, trace()).await?;
    let restarted = create(&engine).await?;
    let compared = compare(&engine, &restarted, &mut agent, &mut exec).await;
    let options = RemoveContainerOptions {
        force: true,
        ..RemoveContainerOptions::default()
    };
    let removed = engine.api().remove_container(&restarted, Some(options));
    removed.await?;
    agent.close().await?;
    exec.close().await?;
    compared
}

async fn compare(
    engine: &Engine,
    restarted: &str,
    agent: &mut Opened,
    exec: &mut Opened,
) -> anyhow::Result<()> {
    let (mut floors, mut agents, mut execs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let floor = time(restart(engine, restarted)).await?;
        let by_agent = time(agent.run(SCRIPT)).await?;
        let by_exec = time(exec.run(SCRIPT)).await?;
        // The first round warms the caches.
        if round > 0 {
            floors.push(floor);
            agents.push(by_agent);
            execs.push(by_exec);
        }
    }
    let ratios = |times: &[Duration]| -> Vec<f64> {
        let pairs = times.iter().zip(&floors);
        pairs.map(|(time, floor)| ratio(*time, *floor)).collect()
    };
    heading(&format!("a stage, {ROUNDS} rounds in turn, medians"));
    row("restart of the container", &floors);
    against("engine agent", &agents, &ratios(&agents), AGENT);
    against("engine exec", &execs, &ratios(&execs), EXEC);
    Ok(())
}

async fn create(engine: &Engine) -> anyhow::Result<String> {
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        cmd: Some(vec!["sh".to_owned()]),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptions {
        name: Some(format!("runwright-bench-restart-{}", std::process::id())),
        ..CreateContainerOptions::default()
    };
    Ok(engine.api().create_container(Some(options), body).await?.id)
}

async fn restart(engine: &Engine, container: &str) -> anyhow::Result<()> {
    let api = engine.api();
    api.inspect_container(container, None).await?;
    let options = AttachContainerOptions {
        stream: true,
        stdin: true,
        stdout: true,
        stderr: true,
        ..AttachContainerOptions::default()
    };
    let mut attached = api.attach_container(container, Some(options)).await?;
    api.start_container(container, None).await?;
    attached.input.write_all(SCRIPT.as_bytes()).await?;
    attached.input.shutdown().await?;
    let mut said = Vec::new();
    while let Some(piece) = attached.output.next().await {
        said.extend_from_slice(&piece?.into_bytes());
    }
    let options = WaitContainerOptions {
        condition: "not-running".to_owned(),
    };
    let mut ended = api.wait_container(container, Some(options));
    let ended = ended.next().await.context("it ends")??;
    anyhow::ensure!(ended.status_code == 0 && said == b"done\n", "{said:?}");
    Ok(())
}

async fn time(action: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    action.await?;
    Ok(begin.elapsed())
}
