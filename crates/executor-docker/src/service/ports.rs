//! The proxy to the ports of services.

use super::probe::ContainerFacts;
use super::running::{self, PortAccess};
use super::services::{Service, Services, Shared};
use super::{exec, inside_probe};
use crate::error::{BACKEND, DockerError};
use async_trait::async_trait;
use bollard::exec::StartExecResults;
use executor_core::ability::{Connection, PortProxy};
use executor_core::cancellation::Cancellation;
use executor_core::{BuildError, Retryability};
use futures_util::TryStreamExt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_util::io::StreamReader;

/// The time limit of a connection.
const DEADLINE: Duration = Duration::from_secs(10);

/// The name of the job's own container.
const BUILD: &str = "build";

/// The job's container and the ports that its image offers.
#[derive(Debug, Clone)]
pub struct BuildPorts {
    /// The container's id.
    pub container: String,
    /// The ports.
    pub ports: Vec<u16>,
}

/// Reaches the ports of services, and of the job's own container.
#[derive(Debug)]
pub(crate) struct ServicePorts {
    services: Arc<Shared>,
    build: Option<BuildPorts>,
}

/// The target of a connection.
struct Target {
    container: String,
    access: PortAccess,
}

impl Services {
    /// Returns the proxy to the services' ports, and to the ports of the job's container when `build` names it.
    pub fn port_proxy(&self, build: Option<BuildPorts>) -> Arc<dyn PortProxy> {
        Arc::new(ServicePorts {
            services: Arc::clone(&self.shared),
            build,
        })
    }
}

impl ServicePorts {
    async fn target(&self, name: &str, port: u16) -> Result<Target, BuildError> {
        let services = self.services.services.iter();
        let same = |known: &String| known.eq_ignore_ascii_case(name);
        let mut services = services.filter(|service| service.plan.names.iter().any(same));
        if let Some(service) = services.next() {
            return of_service(service, name, port);
        }
        match &self.build {
            Some(BuildPorts { container, ports }) if name == BUILD => {
                check_offer(ports, &ContainerFacts::default(), name, port)?;
                let engine = &self.services.options.engine;
                let found = running::inspect(engine, container, BUILD, false).await;
                let found = found.map_err(BuildError::from)?;
                Ok(Target {
                    container: container.clone(),
                    access: found.access,
                })
            }
            _ => Err(BuildError::config(format!(
                "the job has no service {name:?}"
            ))),
        }
    }
}

fn of_service(service: &Service, name: &str, port: u16) -> Result<Target, BuildError> {
    let Some(running) = service.running.get() else {
        return Err(not_yet(name, port, "it is not started yet".into()));
    };
    check_offer(&service.plan.ports, &running.facts, name, port)?;
    Ok(Target {
        container: running.id.clone(),
        access: running.access,
    })
}

/// Checks that a port is offered: the job or the image names it, or neither names any.
fn check_offer(
    ports: &[u16],
    facts: &ContainerFacts,
    name: &str,
    port: u16,
) -> Result<(), BuildError> {
    let exposed = facts.tcp_ports();
    let none = ports.is_empty() && exposed.is_empty();
    if none || ports.contains(&port) || exposed.contains(&port) {
        return Ok(());
    }
    Err(BuildError::config(format!(
        "{name} does not offer port {port}"
    )))
}

fn not_yet(name: &str, port: u16, source: executor_core::BoxError) -> BuildError {
    BuildError::System {
        backend: BACKEND,
        message: format!("connect to port {port} of {name}"),
        source: Some(source),
        retry: Retryability::Temporary,
    }
}

#[async_trait]
impl PortProxy for ServicePorts {
    async fn connect(
        &self,
        service: &str,
        port: u16,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        let connected = async {
            let target = self.target(service, port).await?;
            match target.access {
                PortAccess::Direct(address) => {
                    let connected = TcpStream::connect((address, port)).await;
                    let stream = connected.map_err(|error| not_yet(service, port, error.into()))?;
                    Ok(Box::new(stream) as Box<dyn Connection>)
                }
                PortAccess::Inside => self.inside(&target.container, port).await,
            }
        };
        tokio::select! {
            connected = tokio::time::timeout(DEADLINE, connected) => connected.unwrap_or_else(|_| {
                Err(not_yet(service, port, io::Error::from(io::ErrorKind::TimedOut).into()))
            }),
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }
}

impl ServicePorts {
    /// Connects by a program in the container, for an engine whose networks are not reachable from this host.
    async fn inside(&self, container: &str, port: u16) -> Result<Box<dyn Connection>, BuildError> {
        let engine = &self.services.options.engine;
        let command = exec::shell(&inside_probe::connect(port));
        let (_, started) = exec::start(engine, container, &command, true).await?;
        let StartExecResults::Attached { output, input } = started else {
            return Err(DockerError::config("the engine did not attach to the command").into());
        };
        let output = output
            .map_ok(bollard::container::LogOutput::into_bytes)
            .map_err(io::Error::other);
        Ok(Box::new(tokio::io::join(StreamReader::new(output), input)))
    }
}
