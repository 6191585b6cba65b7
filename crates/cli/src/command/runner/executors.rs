//! The executor of each runner, from its tables.

use super::known::SshTable;
use crate::command::docker_config::connect;
use crate::command::engine_owners::{Owner, Owners};
use crate::command::machines_config;
use crate::command::take_over::REMEMBERED;
use crate::executors::{DOCKER_AUTOSCALER, DOCKER_MACHINE, INSTANCE, Setup, registry, ssh};
use executor_core::ability::ResumeHandle;
use executor_core::{ExecutorProvider, chain};
use executor_custom::{CustomConfig, CustomOptions};
use executor_docker::DockerOptions;
use executor_docker::config::DockerConfig;
use executor_docker::garbage::{ObjectOwner, sweep};
use executor_kubernetes::KubernetesConfig;
use executor_shell::ShellConfig;
use executor_ssh::SshConfig;
use runner::Executors;
use runner::config::{RunnerSettings, Settings};
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use workstation::{Library, StateDir, Supervisor};

/// The place of all owners in the state directory of a runner, which one process at a time has.
const HERE: &str = "runner";

/// How long leftovers of an earlier process are looked for before the runner starts.
const SWEEP: Duration = Duration::from_mins(1);

/// Makes the executors of runners.
#[derive(Debug)]
pub(super) struct RunnerExecutors {
    pub(super) config: PathBuf,
    pub(super) state: StateDir,
    pub(super) supervisor: Supervisor,
    pub(super) library: Arc<dyn Library>,
    /// The directory in which relative paths start.
    pub(super) directory: PathBuf,
    /// Of containers and pods.
    pub(super) owner: Owner,
}

/// The processes that had the state directory before, whose containers and pods may be left.
#[derive(Debug)]
pub(super) struct Predecessors {
    owners: Owners,
    dead: Vec<Owner>,
}

/// Registers this process as an owner of containers and pods; returns those before it too.
pub(super) fn owners(state: &StateDir) -> io::Result<(Owner, Predecessors)> {
    let owners = Owners::of(state.path());
    let owner = owners.enter(HERE)?;
    let dead = owners.claim_dead(HERE);
    Ok((owner, Predecessors { owners, dead }))
}

impl Predecessors {
    /// Removes what they left, except the environments in `kept`.
    pub(super) async fn sweep(self, settings: &Settings, kept: Vec<ResumeHandle>) {
        if self.dead.is_empty() {
            return;
        }
        let dead: Arc<[String]> = self.dead.iter().map(|it| it.id().to_owned()).collect();
        let kept: Arc<[ResumeHandle]> = kept.into();
        let mut sweeps = JoinSet::new();
        for runner in settings.runners.iter().cloned() {
            let (dead, kept) = (Arc::clone(&dead), Arc::clone(&kept));
            sweeps.spawn(async move {
                let swept = timeout(SWEEP, sweep_of(&runner, &dead, &kept)).await;
                let failures = swept.unwrap_or_else(|_| vec!["there is no answer".to_owned()]);
                for failure in &failures {
                    tracing::warn!(runner = %runner.config.name, "What an earlier process left is not removed: {failure}.");
                }
                failures.is_empty()
            });
        }
        let all_removed = sweeps.join_all().await.into_iter().all(|it| it);
        let has_jobs = |owner: &Owner| {
            let mut fields = kept.iter().filter_map(|it| it.fields.get("owner"));
            fields.any(|it| it == owner.id())
        };
        if all_removed {
            for owner in self.dead.iter().filter(|it| !has_jobs(it)) {
                self.owners.forget(owner, REMEMBERED);
            }
        }
    }
}

/// Removes what dead owners left in the engine or the cluster of a runner; returns what failed.
async fn sweep_of(runner: &RunnerSettings, dead: &[String], kept: &[ResumeHandle]) -> Vec<String> {
    let is_dead = |owner: &str| dead.iter().any(|it| it == owner);
    match runner.config.executor.as_str() {
        executor_docker::NAME => {
            let engine = match read::<DockerConfig>(runner, "docker") {
                Ok(config) => Box::pin(connect(&config)).await,
                Err(error) => return vec![error],
            };
            let is_left =
                |it: &ObjectOwner<'_>| is_dead(it.owner) && !kept.iter().any(|kept| it.is_of(kept));
            let swept = match engine {
                Ok(engine) => Box::pin(sweep(&engine, |it| !is_left(it))).await,
                Err(error) => Err(error),
            };
            match swept {
                Ok(swept) => swept.failures.iter().map(ToString::to_string).collect(),
                Err(error) => vec![chain(&error)],
            }
        }
        executor_kubernetes::NAME => {
            let config = match read::<KubernetesConfig>(runner, "kubernetes") {
                Ok(config) => config,
                Err(error) => return vec![error],
            };
            let is_kept = |pod: &str| {
                let mut pods = kept.iter().filter_map(|it| it.fields.get("pod"));
                pods.any(|it| it == pod)
            };
            let provider = executor_kubernetes::provider(config);
            let swept = provider.sweep(|owner, pod| is_dead(owner) && !is_kept(pod));
            match Box::pin(swept).await {
                Ok(swept) => swept.failures.iter().map(ToString::to_string).collect(),
                Err(error) => vec![chain(&error)],
            }
        }
        _ => Vec::new(),
    }
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
                setup.kubernetes =
                    executor_kubernetes::provider(config).with_owner(self.owner.id());
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
            .with_owner(self.owner.id())
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
    Ok(SshConfig {
        host: table.host.or_else(|| Some("localhost".to_owned())),
        port: table.port,
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
