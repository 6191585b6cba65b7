//! The executor of each runner, from its tables.

use super::known::{SshPort, SshTable};
use crate::command::machines_config;
use crate::executors::{DOCKER_AUTOSCALER, DOCKER_MACHINE, INSTANCE, Setup, registry, ssh};
use executor_core::ExecutorProvider;
use executor_custom::{CustomConfig, CustomOptions};
use executor_docker::DockerOptions;
use executor_docker::config::DockerConfig;
use executor_kubernetes::KubernetesConfig;
use executor_shell::ShellConfig;
use executor_ssh::SshConfig;
use runner::Executors;
use runner::config::RunnerSettings;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workstation::{Library, StateDir, Supervisor};

/// Makes the executors of runners.
#[derive(Debug)]
pub(super) struct RunnerExecutors {
    pub(super) config: PathBuf,
    pub(super) state: StateDir,
    pub(super) supervisor: Supervisor,
    pub(super) library: Arc<dyn Library>,
    /// The directory in which relative paths start.
    pub(super) directory: PathBuf,
}

impl Executors for RunnerExecutors {
    fn provider(&self, settings: &RunnerSettings) -> Result<Arc<dyn ExecutorProvider>, String> {
        let name = settings.config.executor.as_str();
        let mut setup = Setup::default();
        match name {
            executor_shell::NAME => setup.shell = self.shell(),
            executor_docker::NAME => setup.docker = self.docker(settings)?,
            executor_kubernetes::NAME => {
                let config = read::<KubernetesConfig>(settings, "kubernetes")?;
                setup.kubernetes = executor_kubernetes::provider(config);
            }
            executor_custom::NAME => {
                let config = read::<CustomConfig>(settings, "custom")?;
                setup.custom = CustomOptions::new(config);
                setup.custom.supervisor = Some(self.supervisor.clone());
            }
            executor_ssh::NAME => setup.ssh = ssh(ssh_config(settings)?),
            DOCKER_MACHINE | DOCKER_AUTOSCALER | INSTANCE => {
                let runner = Some(settings.config.name.as_str());
                let found = machines_config::Runner::find(&self.config, runner, Some(name));
                let found = found.map_err(|error| format!("{error:#}"))?;
                let layer = found.layer(&self.state, &self.supervisor);
                setup.machines = layer.map_err(|failure| failure.message())?;
                if name == INSTANCE {
                    setup.ssh = ssh(ssh_config(settings)?);
                } else {
                    setup.docker = self.docker(settings)?;
                }
            }
            other => return Err(format!("there is no executor {other:?}")),
        }
        let registry = registry(setup).map_err(|error| error.to_string())?;
        registry
            .get(name)
            .map(Arc::clone)
            .ok_or_else(|| format!("there is no executor {name:?}"))
    }
}

impl RunnerExecutors {
    fn shell(&self) -> ShellConfig {
        let inside = |name: &str| self.directory.join(name).display().to_string();
        ShellConfig {
            builds_dir: inside("builds"),
            cache_dir: inside("cache"),
            supervisor: Some(self.supervisor.clone()),
            library: Some(Arc::clone(&self.library)),
            ..ShellConfig::default()
        }
    }

    fn docker(&self, settings: &RunnerSettings) -> Result<DockerOptions, String> {
        Ok(DockerOptions::new()
            .with_config(read::<DockerConfig>(settings, "docker")?)
            .with_supervisor(self.supervisor.clone())
            .with_library(Arc::clone(&self.library)))
    }
}

fn read<T: DeserializeOwned + Default>(
    settings: &RunnerSettings,
    table: &str,
) -> Result<T, String> {
    let read = settings.tables.read::<T>(table);
    let read = read.map_err(|error| format!("[runners.{table}]: {}", error.message()))?;
    Ok(read.unwrap_or_default())
}

fn ssh_config(settings: &RunnerSettings) -> Result<SshConfig, String> {
    let table = read::<SshTable>(settings, "ssh")?;
    let port = match table.port {
        None => None,
        Some(SshPort::Number(port)) => Some(port),
        Some(SshPort::Text(text)) if text.is_empty() => None,
        Some(SshPort::Text(text)) => {
            let port = text.parse::<u16>();
            Some(port.map_err(|_| format!("[runners.ssh]: port {text:?} is not a number"))?)
        }
    };
    Ok(SshConfig {
        host: table.host.or_else(|| Some("localhost".to_owned())),
        port,
        user: table.user.or_else(|| Some("root".to_owned())),
        password: table.password,
        identity_file: table.identity_file,
        known_hosts_file: table.known_hosts_file,
        accept_new_host_keys: table.disable_strict_host_key_checking,
        // The account of the service has no say in where jobs go.
        config_file: Some(Path::new("/dev/null").to_owned()),
        ..SshConfig::default()
    })
}
