//! From the end of a job until all its resources are removed, against creating and starting the same.

use crate::means::{Opened, against, engine, heading, row};
use anyhow::Context as _;
use benches::statistics::ratio;
use bollard::models::{ContainerCreateBody, NetworkCreateRequest};
use bollard::query_parameters::RemoveContainerOptions;
use executor_docker::Engine;
use executor_docker::config::EngineChoice;
use executor_testkit::RecordingTrace;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 12;
const ALONE: f64 = 0.6;
const WITH_NETWORK: f64 = 1.1;

pub(crate) async fn measure() -> anyhow::Result<()> {
    let engine = engine().await?;
    heading(&format!(
        "from a job's end to nothing left, {ROUNDS} rounds in turn, medians"
    ));
    for (with_network, goal) in [(false, ALONE), (true, WITH_NETWORK)] {
        let (mut floors, mut times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let (floor, time) = once(&engine, with_network).await?;
            if round > 0 {
                floors.push(floor);
                times.push(time);
                ratios.push(ratio(time, floor));
            }
        }
        let (made, removed) = if with_network {
            (
                "create and start, with a network",
                "the end, with a network",
            )
        } else {
            ("create and start", "the end")
        };
        row(made, &floors);
        against(removed, &times, &ratios, goal);
    }
    Ok(())
}

/// Returns the time to create and start a job's resources, and the time to end the job.
async fn once(engine: &Engine, with_network: bool) -> anyhow::Result<(Duration, Duration)> {
    let trace = Arc::new(RecordingTrace::new());
    let mut job = Opened::new(EngineChoice::Agent, with_network, trace).await?;
    job.run("echo done\n").await?;
    let body = body_of(engine, &job.container(engine).await?).await?;
    let floor = make(engine, body, with_network).await;
    let begin = Instant::now();
    job.close().await?;
    let time = begin.elapsed();
    Ok((floor?, time))
}

/// Returns the request body that creates a copy of a container.
async fn body_of(engine: &Engine, container: &str) -> anyhow::Result<ContainerCreateBody> {
    let found = engine.api().inspect_container(container, None).await?;
    let mut body = serde_json::to_value(found.config.context("it has a configuration")?)?;
    body["HostConfig"] = serde_json::to_value(found.host_config)?;
    body["Labels"] = serde_json::Value::Null;
    body["Hostname"] = serde_json::Value::Null;
    Ok(serde_json::from_value(body)?)
}

/// Returns the time to create a container and its network, and removes both.
async fn make(
    engine: &Engine,
    mut body: ContainerCreateBody,
    with_network: bool,
) -> anyhow::Result<Duration> {
    let api = engine.api();
    let name = format!("runwright-bench-same-{}", std::process::id());
    let begin = Instant::now();
    if with_network {
        let request = NetworkCreateRequest {
            name: name.clone(),
            ..NetworkCreateRequest::default()
        };
        api.create_network(request).await?;
        if let Some(host) = &mut body.host_config {
            host.network_mode = Some(name.clone());
        }
    }
    let created = api.create_container(None, body).await?;
    api.start_container(&created.id, None).await?;
    let time = begin.elapsed();
    let options = RemoveContainerOptions {
        force: true,
        v: true,
        ..RemoveContainerOptions::default()
    };
    api.remove_container(&created.id, Some(options)).await?;
    if with_network {
        api.remove_network(&name).await?;
    }
    Ok(time)
}
