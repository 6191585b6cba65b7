//! The settings for one kind of executor.

use crate::typed_bag::TypedBag;
use std::fmt;

/// A runner's settings for one kind of executor: a value of that executor's own type.
///
/// Several runners of one process may use one provider with different settings, so these belong to
/// the runner. The executor's crate defines the type, the reader of the configuration adds a value,
/// and the executor finds it by its type. It can do so in two places:
/// [`acquire`](crate::ExecutorProvider::acquire) receives the [`RunnerConfig`] and may pass values to
/// [`create`](crate::ExecutorProvider::create) in the [`ExecutorData`](crate::ExecutorData);
/// [`prepare`](crate::Executor::prepare) receives the `RunnerConfig` in its options. A layer has its
/// own type. Of two values of one type, the later one counts; clones share the values.
///
/// # Examples
///
/// ```
/// use executor_core::{ExecutorSettings, RunnerConfig};
///
/// /// The settings of an executor for development boards.
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
    /// Returns empty settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the settings for one kind of executor.
    pub fn of<T: Send + Sync + 'static>(settings: T) -> Self {
        Self::new().with(settings)
    }

    /// Adds settings of another type, for example a layer's.
    pub fn with<T: Send + Sync + 'static>(mut self, settings: T) -> Self {
        self.0.push(settings);
        self
    }

    /// Returns the settings of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get()
    }
}

/// Shows only the types: settings may hold secrets.
impl fmt::Debug for ExecutorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
