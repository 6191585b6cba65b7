//! The executors of this build. Only this module binds their names to crates.

use executor_core::{ExecutorProvider, ProviderRegistry, RegisterError};
use executor_docker::DockerOptions;
use executor_shell::ShellConfig;
use std::sync::Arc;
use workstation::ByImage;

/// The name of the executor that runs jobs with an image in containers, and all others on this host.
pub(crate) const AUTO: &str = "auto";

/// Returns the registry of all executors, set up for local runs.
///
/// # Errors
///
/// When a provider fails its checks.
pub(crate) fn registry(
    shell: ShellConfig,
    docker: DockerOptions,
) -> Result<ProviderRegistry, RegisterError> {
    let mut registry = ProviderRegistry::new();
    let shell: Arc<dyn ExecutorProvider> = Arc::new(executor_shell::provider(shell));
    let docker: Arc<dyn ExecutorProvider> = Arc::new(executor_docker::provider(docker));
    registry.register(executor_shell::NAME, Arc::clone(&shell))?;
    registry.register(executor_docker::NAME, Arc::clone(&docker))?;
    registry.register(AUTO, Arc::new(ByImage::new(docker, shell)))?;
    Ok(registry)
}
