//! What a provider of this executor is made with.

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
    /// The id of this run of the program, which everything that is made is labelled with.
    ///
    /// Default: one of its own. A [sweep](crate::garbage::sweep) removes what has an owner that is dead.
    pub owner: Option<String>,
    /// Has the journal that notes directories on this host, so that they go away when the runner dies.
    pub supervisor: Option<Supervisor>,
    /// Notes what jobs bring into the engine that it is of, and keeps that from being removed while they use it.
    pub ledger: Option<Ledger>,
    /// Who brings the functions that the steps of a job (`run`) name in git repositories and registries.
    ///
    /// Default: nobody; such a step fails.
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

    /// Returns the same with who brings functions.
    #[must_use]
    pub fn with_library(mut self, library: Arc<dyn Library>) -> Self {
        self.library = Some(library);
        self
    }
}
