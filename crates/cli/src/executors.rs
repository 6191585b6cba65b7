//! The executors of this build. Only this module binds their names to crates.

use executor_core::{ExecutorProvider, ProviderLayer, ProviderRegistry, RegisterError};
use executor_custom::CustomOptions;
use executor_docker::DockerOptions;
use executor_driver::DriverConfig;
use executor_kubernetes::{KubernetesConfig, KubernetesProvider};
use executor_machine::drivers::StaticHosts;
use executor_machine::{MachineLayer, PoolOptions};
use executor_shell::ShellConfig;
use executor_ssh::{SshConfig, SshOptions};
use std::sync::Arc;
use workstation::ByImage;

/// The name of the executor that runs jobs with an image in containers, and all others on this host.
pub(crate) const AUTO: &str = "auto";

/// The executors whose jobs get machines of a fleet, by the names of GitLab Runner: in containers, and over SSH.
pub(crate) const DOCKER_MACHINE: &str = "docker+machine";
pub(crate) const DOCKER_AUTOSCALER: &str = "docker-autoscaler";
pub(crate) const INSTANCE: &str = "instance";

/// Returns whether jobs of this executor get machines of a fleet.
pub(crate) fn has_machines(name: &str) -> bool {
    [DOCKER_MACHINE, DOCKER_AUTOSCALER, INSTANCE].contains(&name)
}

/// How the executors are set up.
pub(crate) struct Setup {
    pub(crate) shell: ShellConfig,
    pub(crate) docker: DockerOptions,
    pub(crate) custom: CustomOptions,
    pub(crate) driver: DriverConfig,
    pub(crate) ssh: SshOptions,
    pub(crate) kubernetes: KubernetesProvider,
    pub(crate) machines: MachineLayer,
    /// The reason why `auto` has no container engine, if so.
    pub(crate) no_engine: Option<String>,
}

impl Default for Setup {
    /// Returns the setup without any settings, and without a machine.
    fn default() -> Self {
        let none = StaticHosts::new(Vec::new());
        Self {
            shell: ShellConfig::default(),
            docker: DockerOptions::new(),
            custom: CustomOptions::default(),
            driver: DriverConfig::default(),
            ssh: ssh(SshConfig::default()),
            kubernetes: executor_kubernetes::provider(KubernetesConfig::default()),
            machines: MachineLayer::new(PoolOptions::new("none-"), Arc::new(none)),
            no_engine: None,
        }
    }
}

/// Returns the executor of hosts, with the agent for keys of this process.
pub(crate) fn ssh(config: SshConfig) -> SshOptions {
    SshOptions::from_environment(config, |name| std::env::var(name).ok())
}

/// Returns the registry of all executors.
///
/// # Errors
///
/// When a provider fails its checks.
pub(crate) fn registry(setup: Setup) -> Result<ProviderRegistry, RegisterError> {
    let mut registry = ProviderRegistry::new();
    let shell: Arc<dyn ExecutorProvider> = Arc::new(executor_shell::provider(setup.shell));
    let docker: Arc<dyn ExecutorProvider> = Arc::new(executor_docker::provider(setup.docker));
    registry.register(executor_shell::NAME, Arc::clone(&shell))?;
    registry.register(executor_docker::NAME, Arc::clone(&docker))?;
    let custom = executor_custom::provider(setup.custom);
    registry.register(executor_custom::NAME, Arc::new(custom))?;
    let driver = executor_driver::provider(setup.driver);
    registry.register(executor_driver::NAME, Arc::new(driver))?;
    let ssh: Arc<dyn ExecutorProvider> = Arc::new(executor_ssh::provider(setup.ssh));
    registry.register(executor_ssh::NAME, Arc::clone(&ssh))?;
    registry.register(executor_kubernetes::NAME, Arc::new(setup.kubernetes))?;
    registry.register(INSTANCE, setup.machines.layer(ssh))?;
    for name in [DOCKER_MACHINE, DOCKER_AUTOSCALER] {
        registry.register(name, setup.machines.layer(Arc::clone(&docker)))?;
    }
    let auto = match setup.no_engine {
        Some(reason) => ByImage::without_containers(shell, &reason),
        None => ByImage::new(docker, shell),
    };
    registry.register(AUTO, Arc::new(auto))?;
    Ok(registry)
}
