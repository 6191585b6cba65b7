//! The provider of the executor for containers.

use crate::executor::DockerExecutor;
use crate::host::Shared;
use crate::options::DockerOptions;
use executor_core::{DefaultExecutorProvider, Dialect, FeaturesInfo};
use std::sync::Arc;

/// The executor's name in a registry.
pub const NAME: &str = "docker";

/// Returns the provider: jobs share the connection to their engine and nothing else.
///
/// Scripts are for bash; a job whose image has `sh` alone gets that. Nothing is connected to before the
/// first job is prepared. There is no limit to how many jobs run at once; put a layer on it where there
/// shall be.
pub fn provider(options: DockerOptions) -> DefaultExecutorProvider {
    let shared = Arc::new(Shared::new(options));
    let told = Arc::clone(&shared);
    DefaultExecutorProvider::new(Dialect::Bash)
        .with_creator(move |data| Ok(Box::new(DockerExecutor::new(Arc::clone(&shared), data))))
        .with_features(add_features)
        .with_config_info(move |config, info| told.settings(config).report(info))
}

fn add_features(features: &mut FeaturesInfo) {
    features.variables = true;
    features.image = true;
    features.services = true;
    features.session = true;
    features.terminal = true;
    features.proxy = true;
    features.service_variables = true;
    features.service_multiple_aliases = true;
    features.image_executor_opts = true;
    features.service_executor_opts = true;
}
