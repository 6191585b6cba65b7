//! The machines that settings name.

use super::{
    AutoscalerSettings, ConnectorSettings, MachineSettings, STATIC, SettingsError, ThrottleSettings,
};
use crate::driver::{DriverError, MachineDriver};
use crate::drivers::program::{run, stderr_tail};
use crate::drivers::{DockerMachine, PluginDriver, StaticHost, StaticHosts};
#[cfg(feature = "local-engine")]
use crate::drivers::{LocalEngineSettings, LocalEngines};
use crate::throttle::Throttle;
use async_trait::async_trait;
use executor_core::Endpoint;
use process::{Command, ProcessTree, Supervisor};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

impl MachineSettings {
    /// Returns what the names of machines begin with: `MachineName` up to its `%s`, or a name after the runner's.
    pub fn prefix(&self, runner: &str) -> String {
        let (name, _) = self
            .machine_name
            .split_once("%s")
            .unwrap_or((&self.machine_name, ""));
        match name.trim_end_matches('-') {
            "" => prefix_of(runner),
            name => format!("{name}-"),
        }
    }

    /// Returns the machines.
    ///
    /// # Errors
    ///
    /// When `MachineDriver` is missing.
    pub fn driver(&self, supervisor: &Supervisor) -> Result<Arc<dyn MachineDriver>, SettingsError> {
        if self.machine_driver.is_empty() {
            return Err(SettingsError::Missing("MachineDriver"));
        }
        Ok(Arc::new(DockerMachine::new(
            &self.machine_driver,
            self.machine_options.clone(),
            self.machine_options_with_name.clone(),
            supervisor.tree(),
        )))
    }
}

/// Returns a prefix with the name of a runner, of characters that clouds allow in names.
fn prefix_of(runner: &str) -> String {
    let allowed = |it: char| {
        if it.is_ascii_alphanumeric() {
            it.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = runner.chars().map(allowed).collect();
    match name.trim_matches('-') {
        "" => "runwright-".to_owned(),
        name => format!("runwright-{name}-"),
    }
}

impl AutoscalerSettings {
    /// Returns what the names of machines begin with.
    pub fn prefix(runner: &str) -> String {
        prefix_of(runner)
    }

    /// Returns the machines. Paths are relative to the directory of the settings, where a plugin starts.
    ///
    /// # Errors
    ///
    /// When `plugin` is missing, or `plugin_config` of `static` is wrong.
    pub fn driver(
        &self,
        supervisor: &Supervisor,
        directory: &Path,
    ) -> Result<Arc<dyn MachineDriver>, SettingsError> {
        let driver: Arc<dyn MachineDriver> = match &*self.plugin {
            "" => return Err(SettingsError::Missing("plugin")),
            STATIC => Arc::new(StaticHosts::new(self.hosts()?)),
            #[cfg(feature = "local-engine")]
            super::LOCAL_ENGINE => {
                let config = Value::Object(self.plugin_config.clone());
                let mut settings: LocalEngineSettings = serde_json::from_value(config)
                    .map_err(|error| SettingsError::Plugin(error.to_string()))?;
                settings.directory = directory.join(settings.directory);
                Arc::new(LocalEngines::new(settings, supervisor.tree()))
            }
            program if program.contains('/') && !directory.join(program).is_file() => {
                let path = directory.join(program).display().to_string();
                return Err(SettingsError::NoProgram(path));
            }
            program => Arc::new(PluginDriver::new(
                program,
                directory,
                self.plugin_config.clone(),
                supervisor.tree(),
            )),
        };
        Ok(Arc::new(Connector {
            driver,
            settings: self.connector_config.clone(),
            directory: directory.to_owned(),
            ready_command: self.instance_ready_command.clone(),
            processes: supervisor.tree(),
        }))
    }

    pub(super) fn hosts(&self) -> Result<Vec<StaticHost>, SettingsError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Hosts {
            hosts: Vec<StaticHost>,
        }
        let config = Value::Object(self.plugin_config.clone());
        let Hosts { hosts } = serde_json::from_value(config)
            .map_err(|error| SettingsError::Plugin(error.to_string()))?;
        if hosts.is_empty() {
            return Err(SettingsError::Plugin("there are no hosts".to_owned()));
        }
        Ok(hosts)
    }
}

impl ThrottleSettings {
    pub(super) fn pool(self, machines: u32) -> Result<Option<Throttle>, SettingsError> {
        let per_second = match self.limit {
            None | Some(0.0) => 100.0,
            Some(limit) if limit < 0.0 => return Ok(None),
            Some(limit) if limit.is_normal() => limit,
            Some(_) => return Err(SettingsError::Throttle),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number of machines"
        )]
        let otherwise = per_second.ceil() as u32;
        let burst = [self.burst, machines, otherwise]
            .into_iter()
            .find(|it| *it > 0);
        Ok(burst.map(|burst| Throttle { per_second, burst }))
    }
}

/// The pause before a machine that is not ready runs its command again.
const NOT_READY_PAUSE: Duration = Duration::from_secs(1);

/// Completes the addresses of a driver by `connector_config`, and waits until `instance_ready_command` succeeds.
#[derive(Debug)]
struct Connector {
    driver: Arc<dyn MachineDriver>,
    settings: ConnectorSettings,
    directory: PathBuf,
    ready_command: String,
    processes: ProcessTree,
}

impl Connector {
    /// Repeats the command by OpenSSH until the machine is ready. The pool sets the deadline.
    async fn run_until_ready(&self, name: &str, endpoint: &Endpoint) -> Result<(), DriverError> {
        if self.ready_command.is_empty() {
            return Ok(());
        }
        let Endpoint::Ssh {
            host,
            port,
            user,
            identity_file,
            known_hosts_file,
        } = endpoint
        else {
            return Err(DriverError::new(
                "instance_ready_command needs machines that are reached over SSH",
            ));
        };
        let mut ssh = Command::new("ssh").args([
            "-T",
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=10",
            "-o",
            "ServerAliveInterval=15",
            "-o",
            "ServerAliveCountMax=4",
        ]);
        ssh = ssh.args(["-p", &port.to_string()]);
        if let Some(user) = user {
            ssh = ssh.args(["-l", user]);
        }
        if let Some(file) = identity_file {
            ssh = ssh.arg("-i").arg(file);
        }
        if let Some(file) = known_hosts_file {
            let option = format!("UserKnownHostsFile=\"{}\"", file.display());
            ssh = ssh.args(["-o", &option, "-o", "StrictHostKeyChecking=yes"]);
        }
        let ssh = ssh.args(["--", host, &self.ready_command]);
        let mut noted = String::new();
        loop {
            let captured = run(&self.processes, ssh.clone()).await?;
            if captured.outcome.success() {
                return Ok(());
            }
            let reason = stderr_tail(&captured);
            let reason = format!("{}: {reason}", captured.outcome.status);
            if noted != reason {
                tracing::warn!(
                    machine = name,
                    reason,
                    "instance_ready_command failed; it is tried again."
                );
                noted = reason;
            }
            sleep(NOT_READY_PAUSE).await;
        }
    }
}

#[async_trait]
impl MachineDriver for Connector {
    async fn list(&self, prefix: &str) -> Result<Vec<String>, DriverError> {
        self.driver.list(prefix).await
    }

    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        let mut endpoint = self.driver.create(name).await?;
        match &mut endpoint {
            Endpoint::Ssh {
                user,
                identity_file,
                known_hosts_file,
                ..
            } => {
                *user = user.take().or(self.settings.username.clone());
                *identity_file = identity_file.take().or(self.settings.key_path.clone());
                for file in [identity_file, known_hosts_file].into_iter().flatten() {
                    *file = self.directory.join(&file);
                }
            }
            Endpoint::Engine { tls_cert_path, .. } => {
                *tls_cert_path = tls_cert_path.take().map(|path| self.directory.join(path));
            }
        }
        Ok(endpoint)
    }

    async fn await_ready(&self, name: &str, endpoint: &Endpoint) -> Result<(), DriverError> {
        self.driver.await_ready(name, endpoint).await?;
        self.run_until_ready(name, endpoint).await
    }

    async fn check(&self, name: &str, endpoint: &Endpoint) -> Result<(), DriverError> {
        self.driver.check(name, endpoint).await
    }

    async fn remove(&self, name: &str) -> Result<(), DriverError> {
        self.driver.remove(name).await
    }
}
