//! The executors this build has. Here, and nowhere else, their names are bound to crates.

use runwright::core::{ProviderRegistry, RegisterError};
use runwright::shell::ShellConfig;
use std::sync::Arc;

/// Returns the registry of all executors, set up for local runs.
///
/// # Errors
///
/// When a provider fails its checks.
pub(crate) fn registry(shell: ShellConfig) -> Result<ProviderRegistry, RegisterError> {
    let mut registry = ProviderRegistry::new();
    registry.register("shell", Arc::new(runwright::shell::provider(shell)))?;
    Ok(registry)
}
