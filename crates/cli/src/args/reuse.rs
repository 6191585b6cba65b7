use clap::ValueEnum;
use workstation::ReuseMode;

/// Whether jobs are taken from earlier runs that began with the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReuseArg {
    /// All jobs run.
    #[default]
    Off,
    /// What is there is taken; what runs is kept.
    On,
    /// All jobs run, and are kept anew.
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
