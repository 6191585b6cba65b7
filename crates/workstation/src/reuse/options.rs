use crate::settings::Settings;
use std::sync::Arc;

/// Whether jobs are taken from earlier runs that began with the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ReuseMode {
    /// All jobs run, and nothing is kept for later.
    #[default]
    Off,
    /// What is there is taken; what is not runs, and is kept for later.
    On,
    /// All jobs run, and are kept for later in the place of what is there.
    Refresh,
}

impl ReuseMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::On, Self::Refresh];

    /// Returns the word: `off`, `on`, `refresh`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Refresh => "refresh",
        }
    }
}

/// What is to be known to take jobs from earlier runs.
#[derive(Debug, Clone, Default)]
pub struct ReuseOptions {
    /// Whether it is done.
    pub mode: ReuseMode,
    /// What says which files jobs read.
    pub settings: Option<Arc<Settings>>,
    /// How the executor was set up, as far as jobs may notice: whoever runs them otherwise gets other
    /// ends.
    pub executor_setup: String,
}

impl ReuseOptions {
    /// Returns the patterns of the files that a job reads, if somebody says.
    pub(super) fn inputs(&self, job: &str) -> Option<Vec<String>> {
        self.settings.as_ref()?.job(job).inputs
    }
}
