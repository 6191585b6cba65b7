//! How a service is set up.

use std::path::PathBuf;
use std::time::Duration;

use process::{Containment, Timing};

/// What steps see of the environment that the service itself was started with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All of it, but for what is meant for the service: names that begin with `RUNWRIGHT_`.
    ///
    /// This is right in a container, whose image says in variables where its tools are.
    #[default]
    All,
    /// Where programs, a home and a temporary directory are, which language and proxy to use, and nothing else.
    Listed,
}

/// The settings of a [`Service`](super::Service).
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// The directory that the service keeps scripts and logs in. It belongs to this service alone.
    pub state_dir: PathBuf,
    /// What steps see of the service's own environment.
    pub inherit: Inherit,
    /// How processes are held together.
    pub containment: Containment,
    /// How patient the service is where a request does not say so.
    pub timing: Timing,
    /// How long a request that has ended is kept when nobody asks for it.
    pub keep_finished: Duration,
    /// How long a request without a time limit of its own may run.
    pub longest_run: Duration,
    /// How long a request may run without any output. `None` is as long as it likes.
    pub longest_silence: Option<Duration>,
    /// How long the other side of a transfer of files may neither send nor take anything.
    pub longest_stall: Duration,
    /// How long a step that needs something from outside the environment, such as a function of a git repository, waits for
    /// somebody to follow who can bring it.
    pub wish_within: Duration,
    /// How often the service looks for requests that were kept, or ran, for too long.
    pub scan_every: Duration,
}

impl ServiceOptions {
    /// Returns the usual settings for a service with this directory.
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
            wish_within: Duration::from_mins(1),
            scan_every: Duration::from_secs(30),
        }
    }
}
