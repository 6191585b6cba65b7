//! The options of a provider.

use super::DockerConfig;
use crate::garbage::Ledger;
use process::Supervisor;
use std::sync::Arc;
use steps::Library;

/// The executor's name in a registry, in settings and in resume handles.
pub const NAME: &str = "docker";

/// How a provider runs jobs in containers.
///
/// # Examples
///
/// ```
/// use executor_docker::DockerOptions;
///
/// let options = DockerOptions::new().with_owner("3f9c");
/// assert_eq!(options.owner.as_deref(), Some("3f9c"));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DockerOptions {
    /// The settings of runners that have none of their own in
    /// [`RunnerConfig::settings`](executor_core::RunnerConfig::settings).
    pub config: DockerConfig,
    /// The id of this run of the program, a label of everything that is created.
    ///
    /// Default: a new one. A [sweep](crate::garbage::sweep) removes objects whose owner is dead.
    pub owner: Option<String>,
    /// Its journal records directories on this host, so that they are removed when the runner dies.
    pub supervisor: Option<Supervisor>,
    /// Records the images and volumes that jobs use in its engine, and protects them from removal meanwhile.
    pub ledger: Option<Ledger>,
    /// Fetches the functions that a job's steps (`run`) name in git repositories and registries.
    ///
    /// Default: none; such a step fails.
    pub library: Option<Arc<dyn Library>>,
}

impl DockerOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the same with these settings for runners that have none of their own.
    #[must_use]
    pub fn with_config(mut self, config: DockerConfig) -> Self {
        self.config = config;
        self
    }

    /// Returns the same with this id of the run.
    #[must_use]
    pub fn with_owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Returns the same with this supervisor's journal.
    #[must_use]
    pub fn with_supervisor(mut self, supervisor: Supervisor) -> Self {
        self.supervisor = Some(supervisor);
        self
    }

    /// Returns the same with this ledger.
    #[must_use]
    pub fn with_ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// Returns the same with this library of functions.
    #[must_use]
    pub fn with_library(mut self, library: Arc<dyn Library>) -> Self {
        self.library = Some(library);
        self
    }
}
