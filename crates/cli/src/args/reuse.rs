use clap::ValueEnum;
use workstation::ReuseMode;

/// Whether jobs are taken from earlier runs that began with the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReuseArg {
    /// All jobs run.
    #[default]
    Off,
    /// Known results are reused; the results of jobs that run are kept.
    On,
    /// All jobs run, and their results replace the kept ones.
    Refresh,
}

impl ReuseArg {
    /// Returns what it means.
    pub(crate) fn mode(self) -> ReuseMode {
        match self {
            Self::Off => ReuseMode::Off,
            Self::On => ReuseMode::On,
            Self::Refresh => ReuseMode::Refresh,
        }
    }
}
