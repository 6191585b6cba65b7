//! The executors of this build. Only this module binds their names to crates.

use executor_core::{ExecutorProvider, ProviderRegistry, RegisterError};
use executor_custom::CustomOptions;
use executor_docker::DockerOptions;
use executor_driver::DriverConfig;
use executor_shell::ShellConfig;
use executor_ssh::{SshConfig, SshOptions};
use std::sync::Arc;
use workstation::ByImage;

/// The name of the executor that runs jobs with an image in containers, and all others on this host.
pub(crate) const AUTO: &str = "auto";

/// Returns the registry of all executors, set up for local runs.
///
/// # Errors
///
/// When a provider fails its checks.
///
/// `no_engine` is the reason why `auto` has no container engine, if so.
pub(crate) fn registry(
    shell: ShellConfig,
    docker: DockerOptions,
    custom: CustomOptions,
    driver: DriverConfig,
    ssh: SshOptions,
    no_engine: Option<&str>,
) -> Result<ProviderRegistry, RegisterError> {
    let mut registry = ProviderRegistry::new();
    let shell: Arc<dyn ExecutorProvider> = Arc::new(executor_shell::provider(shell));
    let docker: Arc<dyn ExecutorProvider> = Arc::new(executor_docker::provider(docker));
    registry.register(executor_shell::NAME, Arc::clone(&shell))?;
    registry.register(executor_docker::NAME, Arc::clone(&docker))?;
    let custom = executor_custom::provider(custom);
    registry.register(executor_custom::NAME, Arc::new(custom))?;
    let driver = executor_driver::provider(driver);
    registry.register(executor_driver::NAME, Arc::new(driver))?;
    registry.register(executor_ssh::NAME, Arc::new(executor_ssh::provider(ssh)))?;
    let auto = match no_engine {
        Some(reason) => ByImage::without_containers(shell, reason),
        None => ByImage::new(docker, shell),
    };
    registry.register(AUTO, Arc::new(auto))?;
    Ok(registry)
}

/// Returns the registry without any settings, for the names in it.
///
/// # Errors
///
/// As [`registry`].
pub(crate) fn unconfigured() -> Result<ProviderRegistry, RegisterError> {
    let ssh = SshOptions::from_environment(SshConfig::default(), |_| None);
    registry(
        ShellConfig::default(),
        DockerOptions::new(),
        CustomOptions::default(),
        DriverConfig::default(),
        ssh,
        None,
    )
}
