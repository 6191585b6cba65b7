//! Hosts that are always there.

use crate::driver::{DriverError, MachineDriver};
use async_trait::async_trait;
use executor_core::{Endpoint, chain};
use parking_lot::Mutex;
use serde::Deserialize;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a host may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// An SSH server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticHost {
    /// Its name or address.
    pub host: String,
    /// Its port.
    #[serde(default = "ssh_port")]
    pub port: u16,
    /// The user there; without it, that of the executor's settings.
    #[serde(default)]
    pub user: Option<String>,
    /// The private key; without it, that of the executor's settings.
    #[serde(default)]
    pub identity_file: Option<PathBuf>,
    /// The file with its host key; without it, that of the executor's settings.
    #[serde(default)]
    pub known_hosts_file: Option<PathBuf>,
}

/// A driver that hands out hosts of a list. Each is one machine at a time, and belongs to one pool.
///
/// It creates and removes nothing: a machine is a host that is taken, and a removal releases it.
#[derive(Debug)]
pub struct StaticHosts {
    hosts: Mutex<Vec<Slot>>,
}

#[derive(Debug)]
struct Slot {
    host: StaticHost,
    /// The machine that it is.
    machine: Option<String>,
    failures: u32,
}

impl StaticHosts {
    /// Returns a driver of these hosts.
    pub fn new(hosts: Vec<StaticHost>) -> Self {
        let slots = hosts.into_iter().map(|host| Slot {
            host,
            machine: None,
            failures: 0,
        });
        Self {
            hosts: Mutex::new(slots.collect()),
        }
    }

    /// Takes the free host that has failed the fewest times, of those that were not tried.
    fn take(&self, name: &str, tried: &[usize]) -> Option<(usize, StaticHost)> {
        let mut hosts = self.hosts.lock();
        let free = hosts.iter_mut().enumerate();
        let free = free.filter(|(index, slot)| {
            let is_own = slot.machine.as_deref() == Some(name);
            !tried.contains(index) && (is_own || slot.machine.is_none())
        });
        let (index, slot) = free.min_by_key(|(_, slot)| (slot.machine.is_none(), slot.failures))?;
        slot.machine = Some(name.to_owned());
        Some((index, slot.host.clone()))
    }
}

impl StaticHost {
    fn endpoint(&self) -> Endpoint {
        Endpoint::Ssh {
            host: self.host.clone(),
            port: self.port,
            user: self.user.clone(),
            identity_file: self.identity_file.clone(),
            known_hosts_file: self.known_hosts_file.clone(),
        }
    }
}

impl fmt::Display for StaticHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Returns whether an SSH server answers.
async fn answers(host: &str, port: u16) -> Result<(), DriverError> {
    let greeting = async {
        let mut stream = TcpStream::connect((host, port)).await?;
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).await?;
        Ok::<_, io::Error>(greeting)
    };
    match timeout(ANSWER, greeting).await {
        Ok(Ok(greeting)) if &greeting == b"SSH-" => Ok(()),
        Ok(Ok(_)) => Err(DriverError::new(format!(
            "{host}:{port} is not an SSH server"
        ))),
        Ok(Err(error)) => Err(DriverError {
            message: format!("connect to {host}:{port}"),
            source: Some(error.into()),
        }),
        Err(_) => Err(DriverError::new(format!(
            "{host}:{port} does not answer within 10 s"
        ))),
    }
}

#[async_trait]
impl MachineDriver for StaticHosts {
    /// Returns no machine: what a killed process had taken is free again.
    async fn list(&self, _prefix: &str) -> Result<Vec<String>, DriverError> {
        Ok(Vec::new())
    }

    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        let (mut tried, mut errors) = (Vec::new(), Vec::new());
        while let Some((index, host)) = self.take(name, &tried) {
            match answers(&host.host, host.port).await {
                Ok(()) => return Ok(host.endpoint()),
                Err(error) => errors.push(chain(&error)),
            }
            let slot = &mut self.hosts.lock()[index];
            slot.machine = None;
            slot.failures += 1;
            tried.push(index);
        }
        if errors.is_empty() {
            return Err(DriverError::new("all hosts of the list are in use"));
        }
        Err(DriverError::new(errors.join("; ")))
    }

    async fn check(&self, _name: &str, endpoint: &Endpoint) -> Result<(), DriverError> {
        match endpoint {
            Endpoint::Ssh { host, port, .. } => answers(host, *port).await,
            Endpoint::Engine { .. } => {
                Err(DriverError::new("expected an SSH server, found an engine"))
            }
        }
    }

    async fn remove(&self, name: &str) -> Result<(), DriverError> {
        let mut hosts = self.hosts.lock();
        let own = hosts.iter_mut();
        let own = own.filter(|slot| slot.machine.as_deref() == Some(name));
        own.for_each(|slot| slot.machine = None);
        Ok(())
    }
}

fn ssh_port() -> u16 {
    22
}
