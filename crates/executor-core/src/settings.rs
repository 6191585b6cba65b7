//! The settings of one kind of executor.

use crate::typed_bag::TypedBag;
use std::fmt;

/// What a runner says to one kind of executor alone: a value of that executor's own type.
///
/// Several runners of one process may use the same executor with different settings, so these belong
/// to the runner and not to the provider, which is one for all of them. The executor's crate defines
/// the type, whoever reads the configuration adds a value of it, and the executor finds it by the
/// type: in [`acquire`](crate::ExecutorProvider::acquire), which gets the [`RunnerConfig`] and may put
/// what [`create`](crate::ExecutorProvider::create) needs into the
/// [`ExecutorData`](crate::ExecutorData), and in [`prepare`](crate::Executor::prepare), whose options
/// hold it. A layer has a type of its own. Of two values of one type the later one counts; clones
/// share the values.
///
/// # Examples
///
/// ```
/// use executor_core::{ExecutorSettings, RunnerConfig};
///
/// /// Of a crate that brings jobs to boards on a desk.
/// #[derive(Debug, PartialEq)]
/// struct BoardSettings {
///     serial_port: String,
/// }
///
/// let left = BoardSettings { serial_port: "/dev/ttyUSB0".to_owned() };
/// let config = RunnerConfig {
///     settings: ExecutorSettings::of(left),
///     ..RunnerConfig::new("left-board", "board")
/// };
/// let settings = config.settings.get::<BoardSettings>();
/// assert_eq!(settings.map(|it| it.serial_port.as_str()), Some("/dev/ttyUSB0"));
/// ```
///
/// [`RunnerConfig`]: crate::RunnerConfig
#[derive(Clone, Default)]
pub struct ExecutorSettings(TypedBag);

impl ExecutorSettings {
    /// Returns no settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the settings of one kind of executor.
    pub fn of<T: Send + Sync + 'static>(settings: T) -> Self {
        Self::new().with(settings)
    }

    /// Returns these settings and those of another kind, for example of a layer.
    pub fn with<T: Send + Sync + 'static>(mut self, settings: T) -> Self {
        self.0.push(settings);
        self
    }

    /// Returns the settings of this kind.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get()
    }
}

/// Shows the types alone: settings may hold secrets.
impl fmt::Debug for ExecutorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
