//! Settings of a service.

use std::path::PathBuf;
use std::time::Duration;

use process::{Containment, Timing};

/// Which of the service's environment variables steps inherit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All, except those for the service itself: names with the prefix `RUNWRIGHT_`.
    ///
    /// This suits a container, whose image sets the paths of its tools in variables.
    #[default]
    All,
    /// A fixed list: paths of programs, home and temporary directory, locale and proxies.
    Listed,
}

/// The settings of a [`Service`](super::Service).
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// The directory for scripts and logs. It belongs to this service alone.
    pub state_dir: PathBuf,
    /// Which of its own environment variables the service passes on.
    pub inherit: Inherit,
    /// How processes are contained.
    pub containment: Containment,
    /// The default times of requests.
    pub timing: Timing,
    /// How long a finished request is kept after its last use.
    pub keep_finished: Duration,
    /// The time limit of requests without one of their own.
    pub longest_run: Duration,
    /// The longest time without output; `None` is unlimited.
    pub longest_silence: Option<Duration>,
    /// The longest time without progress in a transfer of files.
    pub longest_stall: Duration,
    /// How long a step that needs something from the host, such as a function from a git repository, waits for a
    /// client that can fetch it.
    pub host_timeout: Duration,
    /// The interval of the search for abandoned and overlong requests.
    pub scan_every: Duration,
}

impl ServiceOptions {
    /// Returns the default settings with this directory.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            inherit: Inherit::default(),
            containment: Containment::default(),
            timing: Timing::default(),
            keep_finished: Duration::from_hours(1),
            longest_run: Duration::from_hours(24 * 7),
            longest_silence: None,
            longest_stall: Duration::from_mins(5),
            host_timeout: Duration::from_mins(1),
            scan_every: Duration::from_secs(30),
        }
    }
}
