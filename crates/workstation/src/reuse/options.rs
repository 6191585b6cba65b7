use crate::settings::Settings;
use std::sync::Arc;

/// Whether results of earlier jobs with the same inputs are reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ReuseMode {
    /// All jobs run, and no result is stored.
    #[default]
    Off,
    /// Stored results are reused; other jobs run, and their results are stored.
    On,
    /// All jobs run, and their results replace the stored ones.
    Refresh,
}

impl ReuseMode {
    /// All modes.
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

/// How results of earlier jobs are reused.
#[derive(Debug, Clone, Default)]
pub struct ReuseOptions {
    /// Whether they are.
    pub mode: ReuseMode,
    /// The settings with the inputs of jobs.
    pub settings: Option<Arc<Settings>>,
    /// The options that change what any job does: others mean other keys.
    pub executor_setup: String,
    /// The settings that change what a job in a container does; jobs on this host do without them.
    pub container_setup: String,
}

impl ReuseOptions {
    /// Returns the patterns of the files that a job reads, if the settings have any.
    pub(super) fn inputs(&self, job: &str) -> Option<Vec<String>> {
        self.settings.as_ref()?.job(job).inputs
    }
}
