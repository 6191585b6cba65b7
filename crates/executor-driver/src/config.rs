//! The settings of the driver executor.

use process::Supervisor;
use std::path::PathBuf;
use std::time::Duration;

/// The command of a driver, and how long its calls may take.
#[derive(Debug, Clone)]
pub struct DriverConfig {
    /// The program and its arguments. A relative path starts at `working_directory`.
    pub command: Vec<String>,
    /// Where the driver starts. Default: the runner's working directory.
    ///
    /// Set it when that directory may be a project whose files must not choose the program.
    pub working_directory: Option<PathBuf>,
    /// How long the driver may take to start and describe itself. Default: 10 seconds.
    pub start_timeout: Duration,
    /// How long a driver with open calls may be silent when asked for its status, and how long a transfer of files may
    /// stand still. Default: 30 seconds.
    pub call_timeout: Duration,
    /// How long `Acquire` and `Prepare` may take. Default: 10 minutes.
    pub prepare_timeout: Duration,
    /// How long `Cleanup` and `Release` may take. Default: 2 minutes.
    pub cleanup_timeout: Duration,
    /// How long a call that was told to give up may take to end before it is abandoned. Default: 5 seconds.
    pub stop_timeout: Duration,
    /// Where the driver's own directory is created, which has the builds unless the runner sets `builds_dir`. Default: the
    /// system's directory for temporary files.
    pub directory: Option<PathBuf>,
    /// Starts the driver, and ends it if the runner dies.
    ///
    /// Default: a supervisor of the provider, started with the first job.
    pub supervisor: Option<Supervisor>,
}

/// No command: a driver that cannot be started.
impl Default for DriverConfig {
    fn default() -> Self {
        Self::new([""; 0])
    }
}

impl DriverConfig {
    /// Returns the settings of a driver with the default times.
    pub fn new<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            working_directory: None,
            start_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(30),
            prepare_timeout: Duration::from_mins(10),
            cleanup_timeout: Duration::from_mins(2),
            stop_timeout: Duration::from_secs(5),
            directory: None,
            supervisor: None,
        }
    }
}
