//! A service whose container has been started.

use super::ended::Ended;
use super::host_probe;
use super::probe::{ContainerFacts, HealthCheck};
use crate::engine::Engine;
use crate::engine::pending_request::{PendingRequest, RemovalOutcome, unless_stopped};
use crate::error::DockerError;
use bollard::models::{ContainerCreateBody, ContainerInspectResponse};
use bollard::query_parameters::{CreateContainerOptions, RemoveContainerOptions};
use executor_core::cancellation::Cancellation;
use fail_point::fail_point;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The time limit for the removal of one container.
const REMOVAL: Duration = Duration::from_mins(1);

/// How the ports of a service are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortAccess {
    /// From this host, at this address.
    Direct(IpAddr),
    /// From inside its container.
    Inside,
}

/// A service whose container has been started.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) id: String,
    pub(crate) facts: ContainerFacts,
    /// Its address in the job's network.
    pub(crate) address: Option<IpAddr>,
    pub(crate) access: PortAccess,
    pub(crate) end: watch::Receiver<Option<Ended>>,
}

/// The service to start, and its engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceStart<'b> {
    pub(crate) engine: &'b Engine,
    pub(crate) name: &'b str,
    /// Its title in the log.
    pub(crate) title: &'b str,
    pub(crate) platform: Option<&'b str>,
    /// The state of the create request.
    pub(crate) pending: &'b PendingRequest,
}

/// Creates and starts the container, and returns its id.
///
/// Replaces a container of the same name, which only an earlier process of this attempt can have left.
pub(crate) async fn begin(
    beginning: ServiceStart<'_>,
    body: ContainerCreateBody,
    cancellation: &Cancellation,
) -> Result<String, DockerError> {
    let id = match create(beginning, body.clone(), cancellation).await {
        Err(error) if error.is_conflict() => {
            remove(beginning.engine, beginning.name).await?;
            create(beginning, body, cancellation).await?
        }
        created => created?,
    };
    let engine = beginning.engine;
    let doing = format!("start the service {}", beginning.title);
    let starting = async {
        fail_point!(
            "executor_docker::service::start",
            engine
                .call(doing, engine.api().start_container(&id, None))
                .await
        )
    };
    unless_stopped(cancellation, starting).await?;
    Ok(id)
}

async fn create(
    beginning: ServiceStart<'_>,
    body: ContainerCreateBody,
    cancellation: &Cancellation,
) -> Result<String, DockerError> {
    let ServiceStart {
        engine,
        name,
        title,
        platform,
        pending,
    } = beginning;
    let options = CreateContainerOptions {
        name: Some(name.to_owned()),
        platform: platform.unwrap_or_default().to_owned(),
    };
    let created = engine.api().create_container(Some(options), body);
    let doing = format!("create the container of the service {title}");
    let creating = async {
        fail_point!(
            "executor_docker::service::create",
            engine.call(doing, created).await
        )
    };
    let created = pending.track(unless_stopped(cancellation, creating));
    Ok(created.await?.id)
}

/// Removes a container by its name or id.
pub(crate) async fn remove(engine: &Engine, name: &str) -> Result<RemovalOutcome, DockerError> {
    let end = Instant::now() + REMOVAL;
    let mut failures = 0;
    loop {
        let options = RemoveContainerOptions {
            force: true,
            // Anonymous volumes belong to the container.
            v: true,
            ..RemoveContainerOptions::default()
        };
        let doing = format!("remove container {name}");
        let removed = fail_point!(
            "executor_docker::service::remove",
            engine
                .call(doing, engine.api().remove_container(name, Some(options)))
                .await
        );
        let error = match removed {
            Ok(()) => return Ok(RemovalOutcome::Removed),
            Err(error) if error.is_not_found() => return Ok(RemovalOutcome::Absent),
            Err(error) => error,
        };
        // Another removal is in progress.
        failures += u32::from(!error.is_conflict());
        if failures > 3 || Instant::now() > end {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The facts about a container after its start.
pub(crate) struct Found {
    pub(crate) facts: ContainerFacts,
    pub(crate) address: Option<IpAddr>,
    pub(crate) access: PortAccess,
}

/// Inspects a started container.
pub(crate) async fn inspect(
    engine: &Engine,
    id: &str,
    title: &str,
    on_host: bool,
) -> Result<Found, DockerError> {
    let found = engine.api().inspect_container(id, None);
    let found = engine
        .call(format!("inspect the service {title}"), found)
        .await?;
    let (address, gateway) = addresses(&found);
    let address = if on_host {
        Some(Ipv4Addr::LOCALHOST.into())
    } else {
        address
    };
    let near = on_host || gateway.is_some_and(host_probe::is_reachable);
    let access = match address {
        Some(address) if engine.is_local() && near => PortAccess::Direct(address),
        _ => PortAccess::Inside,
    };
    Ok(Found {
        facts: facts(found),
        address,
        access,
    })
}

/// Returns the address and the gateway in the first network with an address.
fn addresses(found: &ContainerInspectResponse) -> (Option<IpAddr>, Option<IpAddr>) {
    let networks = found.network_settings.as_ref();
    let networks = networks.and_then(|settings| settings.networks.as_ref());
    let parse = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
    let mut endpoints = networks.into_iter().flat_map(|networks| networks.values());
    endpoints
        .find_map(|endpoint| {
            let address: IpAddr = parse(&endpoint.ip_address)?;
            Some((Some(address), parse(&endpoint.gateway)))
        })
        .unwrap_or_default()
}

fn facts(found: ContainerInspectResponse) -> ContainerFacts {
    let config = found.config.unwrap_or_default();
    let test = config.healthcheck.and_then(|health| health.test);
    ContainerFacts {
        health: test.and_then(|test| HealthCheck::from_test(&test)),
        exposed: config.exposed_ports.unwrap_or_default(),
        environment: config.env.unwrap_or_default(),
    }
}
