//! Machines of `docker-machine`.

use super::program::{run, stderr_tail};
use crate::driver::{DriverError, MachineDriver};
use async_trait::async_trait;
use executor_core::Endpoint;
use process::{Command, ProcessTree};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::sleep;

/// How often a machine that was created halfway is provisioned, as GitLab Runner does it.
const PROVISIONS: u32 = 3;

/// The driver that calls the command line of `docker-machine`, or of a program with the same commands.
pub struct DockerMachine {
    /// `docker-machine`, unless a test says otherwise.
    program: String,
    driver: String,
    options: Vec<String>,
    options_with_name: Vec<String>,
    processes: ProcessTree,
}

impl DockerMachine {
    /// Returns the driver for machines of this driver of docker-machine: `MachineDriver`, `MachineOptions` and
    /// `MachineOptionsWithName` of GitLab Runner.
    pub fn new(
        driver: impl Into<String>,
        options: Vec<String>,
        options_with_name: Vec<String>,
        processes: ProcessTree,
    ) -> Self {
        Self {
            program: "docker-machine".to_owned(),
            driver: driver.into(),
            options,
            options_with_name,
            processes,
        }
    }

    /// Returns the same driver with another program.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<String>) -> Self {
        self.program = program.into();
        self
    }

    /// Runs a command, and returns what it prints.
    async fn run(&self, arguments: &[&str]) -> Result<String, DriverError> {
        let command = Command::new(&self.program).args(arguments.iter().copied());
        let captured = run(&self.processes, command).await?;
        if captured.outcome.success() {
            return Ok(String::from_utf8_lossy(&captured.stdout).into_owned());
        }
        // Options may be secret, so the message has the command alone.
        let command = arguments.first().copied().unwrap_or_default();
        let words = stderr_tail(&captured);
        Err(DriverError::new(format!(
            "docker-machine {command}: {words}"
        )))
    }

    async fn names(&self) -> Result<Vec<String>, DriverError> {
        let names = self.run(&["ls", "-q"]).await?;
        Ok(names.split_whitespace().map(ToOwned::to_owned).collect())
    }

    async fn exists(&self, name: &str) -> Result<bool, DriverError> {
        Ok(self.names().await?.iter().any(|it| it == name))
    }

    async fn make(&self, name: &str) -> Result<(), DriverError> {
        let options = self.options.iter().map(|option| format!("--{option}"));
        let named = self.options_with_name.iter();
        let named = named.map(|option| format!("--{}", option.replace("%s", name)));
        let options: Vec<_> = options.chain(named).collect();
        let mut arguments = vec!["create", "--driver", &self.driver];
        arguments.extend(options.iter().map(String::as_str));
        arguments.push(name);
        self.run(&arguments).await.map(drop)
    }

    /// Finishes a machine that exists.
    async fn provision(&self, name: &str) -> Result<(), DriverError> {
        let mut attempt = 1;
        loop {
            match self.run(&["provision", name]).await {
                Ok(_) => return Ok(()),
                Err(error) if attempt == PROVISIONS => return Err(error),
                Err(_) => attempt += 1,
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    /// Returns the address of a machine whose engine answers.
    async fn address(&self, name: &str) -> Result<Endpoint, DriverError> {
        let flags = self.run(&["config", name]).await?;
        engine(&flags).ok_or_else(|| {
            DriverError::new(format!(
                "docker-machine config: cannot read {:?}",
                flags.trim()
            ))
        })
    }
}

/// Reads the flags for a Docker client.
fn engine(flags: &str) -> Option<Endpoint> {
    let value = |flag: &str| {
        let found = flags
            .split_whitespace()
            .find_map(|it| it.strip_prefix(flag))?;
        Some(found.trim_matches('"').to_owned())
    };
    let host = value("-H=")?;
    let Some(certificate) = value("--tlscert=") else {
        return Some(Endpoint::Engine {
            host,
            tls_cert_path: None,
        });
    };
    let directory = Path::new(&certificate).parent().map(PathBuf::from)?;
    let is_there =
        |flag: &str, file: &str| Some(directory.join(file)) == value(flag).map(Into::into);
    let is_usual = is_there("--tlscacert=", "ca.pem")
        && is_there("--tlscert=", "cert.pem")
        && is_there("--tlskey=", "key.pem");
    is_usual.then_some(Endpoint::Engine {
        host,
        tls_cert_path: Some(directory),
    })
}

/// Options may be secret.
impl fmt::Debug for DockerMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DockerMachine")
            .field("driver", &self.driver)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl MachineDriver for DockerMachine {
    async fn list(&self, prefix: &str) -> Result<Vec<String>, DriverError> {
        let mut names = self.names().await?;
        names.retain(|name| name.starts_with(prefix));
        Ok(names)
    }

    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        if self.exists(name).await? {
            if let Ok(endpoint) = self.address(name).await {
                return Ok(endpoint);
            }
            self.provision(name).await?;
        } else if let Err(error) = self.make(name).await {
            // A machine that exists may lack its last part alone.
            if !self.exists(name).await.unwrap_or(false) || self.provision(name).await.is_err() {
                return Err(error);
            }
        }
        self.address(name).await
    }

    async fn check(&self, name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
        // `config` connects to the engine, and checks its certificate.
        self.address(name).await.map(drop)
    }

    async fn remove(&self, name: &str) -> Result<(), DriverError> {
        if self.exists(name).await? {
            self.run(&["rm", "-y", name]).await?;
        }
        Ok(())
    }
}
