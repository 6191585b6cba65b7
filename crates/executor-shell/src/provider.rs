//! The provider of the shell executor.

use crate::config::ShellConfig;
use crate::executor::ShellExecutor;
use crate::host::Host;
use executor_core::{DefaultExecutorProvider, FeaturesInfo};
use std::sync::Arc;

/// The executor's name in a registry.
pub const NAME: &str = "shell";

/// Returns the provider; a default one, since jobs share only this host.
///
/// Jobs use bash, or `sh` where the runner's `PATH` has no bash, unless the runner's settings choose a shell. The runner's
/// environment is captured now. Nothing is started before the first job is prepared. The number of concurrent jobs is
/// unlimited; a layer can limit it.
pub fn provider(config: ShellConfig) -> DefaultExecutorProvider {
    let host = Arc::new(Host::new(config));
    DefaultExecutorProvider::new(host.default_dialect)
        .with_creator(move |_data| Ok(Box::new(ShellExecutor::new(Arc::clone(&host)))))
        .with_features(add_features)
}

fn add_features(features: &mut FeaturesInfo) {
    features.variables = true;
    features.shared = true;
    if cfg!(not(windows)) {
        features.session = true;
        features.terminal = true;
    }
}
