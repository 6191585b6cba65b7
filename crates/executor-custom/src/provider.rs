//! The provider of the custom executor.

use crate::config::{CustomConfig, CustomOptions};
use crate::error::CustomError;
use crate::executor::CustomExecutor;
use executor_core::{DefaultExecutorProvider, RunnerConfig, ShellDialect};
use parking_lot::Mutex;
use process::{Settings, Supervisor};
use std::sync::Arc;

/// The executor's name in a registry.
pub const NAME: &str = "custom";

/// Returns the provider; a default one, since a driver manages its own capacity.
///
/// Nothing is started before the first job is prepared. Scripts are for bash, unless the runner's settings or the driver
/// choose another shell.
pub fn provider(options: CustomOptions) -> DefaultExecutorProvider {
    let host = Arc::new(Host {
        supervisor: Mutex::new(options.supervisor.clone()),
        options,
    });
    DefaultExecutorProvider::new(ShellDialect::Bash)
        .with_creator(move |_data| Ok(Box::new(CustomExecutor::new(Arc::clone(&host)))))
        .with_features(|features| {
            features.variables = true;
            features.shared = true;
            // The driver gets both, and does with them what it can.
            features.image = true;
            features.services = true;
        })
}

/// The part that all jobs of a provider share.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) options: CustomOptions,
    supervisor: Mutex<Option<Supervisor>>,
}

impl Host {
    /// Returns the driver of a runner.
    pub(crate) fn driver_of(&self, runner: &RunnerConfig) -> CustomConfig {
        let own = runner.settings.get::<CustomConfig>();
        own.unwrap_or(&self.options.config).clone()
    }

    /// Returns the supervisor, which is started with the first job.
    pub(crate) fn supervisor(&self) -> Result<Supervisor, CustomError> {
        let mut supervisor = self.supervisor.lock();
        if let Some(supervisor) = &*supervisor {
            return Ok(supervisor.clone());
        }
        Ok(supervisor
            .insert(Supervisor::start(Settings::default())?)
            .clone())
    }
}
