//! The reports of a watch.

use executor_core::HumanDuration;
use std::fmt;
use std::time::Duration;

/// How often the tree is compared without events of the system.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How changes are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchMeans {
    /// By events of the system.
    Events,
    /// By comparing the tree at an interval.
    Polling {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for WatchMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events => f.write_str("changes are reported by the system"),
            Self::Polling { reason } => {
                let interval = HumanDuration(POLL_INTERVAL);
                write!(f, "looking for changes every {interval}: {reason}")
            }
        }
    }
}

/// What a [`TreeWatch`](super::TreeWatch) reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeNews {
    /// These files changed.
    Changed(Vec<String>),
    /// Changes are found by other means from now on.
    Means(WatchMeans),
}
