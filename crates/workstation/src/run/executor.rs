//! The executor of a run.

use executor_core::{ExecutorProvider, ProviderLayer, ProviderRegistry};
use executor_shell::ShellConfig;
use process::Supervisor;
use std::fmt;
use std::sync::Arc;

type Start = Box<dyn FnOnce(&Supervisor) -> Arc<dyn ExecutorProvider> + Send>;

/// What runs the jobs of a run: a provider and its name, in one value so that they cannot differ.
///
/// The provider is made when the run has a supervisor, which ends all processes of the run even if this
/// program is killed. A [`ShellConfig`] is an executor as it is; its supervisor becomes the run's.
///
/// # Examples
///
/// ```
/// use executor_shell::ShellConfig;
/// use std::sync::Arc;
/// use workstation::RunExecutor;
///
/// let shell = RunExecutor::from(ShellConfig::default());
/// assert_eq!(shell.name(), "shell");
/// // The same, for a provider of your own.
/// let own = RunExecutor::new("own", |supervisor| {
///     Arc::new(executor_shell::provider(ShellConfig {
///         supervisor: Some(supervisor.clone()),
///         ..ShellConfig::default()
///     }))
/// });
/// assert_eq!(own.name(), "own");
/// ```
pub struct RunExecutor {
    name: String,
    start: Start,
}

impl RunExecutor {
    /// Returns the executor of this name, whose provider `start` makes.
    pub fn new(
        name: impl Into<String>,
        start: impl FnOnce(&Supervisor) -> Arc<dyn ExecutorProvider> + Send + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            start: Box::new(start),
        }
    }

    /// Returns the executor that a registry has under this name.
    pub fn registered(registry: &ProviderRegistry, name: &str) -> Option<Self> {
        let provider = Arc::clone(registry.get(name)?);
        Some(Self::new(name, move |_| provider))
    }

    /// Returns the same executor with a layer around its provider.
    #[must_use]
    pub fn layer(self, layer: impl ProviderLayer + Send + 'static) -> Self {
        let Self { name, start } = self;
        Self::new(name, move |supervisor| layer.layer(start(supervisor)))
    }

    /// Returns the name that users select it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn start(self, supervisor: &Supervisor) -> (String, Arc<dyn ExecutorProvider>) {
        (self.name, (self.start)(supervisor))
    }
}

impl From<ShellConfig> for RunExecutor {
    fn from(config: ShellConfig) -> Self {
        Self::new(executor_shell::NAME, move |supervisor| {
            Arc::new(executor_shell::provider(ShellConfig {
                supervisor: Some(supervisor.clone()),
                ..config
            }))
        })
    }
}

impl fmt::Debug for RunExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunExecutor")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
