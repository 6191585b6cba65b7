//! The settings of the custom executor.

use process::Supervisor;
use serde::{Deserialize, Deserializer};
use std::time::Duration;

/// The longest that a call other than `run_exec` takes, unless a setting says otherwise.
const LONGEST_CALL: Duration = Duration::from_hours(1);

/// A user's driver: the keys of GitLab Runner's `[runners.custom]`.
///
/// A program without a `/` is found on the runner's `PATH`. Timeouts are read as whole seconds; 0 and less mean the
/// default.
///
/// ```
/// use executor_custom::CustomConfig;
/// use std::time::Duration;
///
/// let config: CustomConfig = serde_json::from_str(
///     r#"{"run_exec": "/opt/run.sh", "run_args": ["--fast"], "prepare_exec_timeout": 90}"#,
/// )?;
/// assert_eq!(config.run_args, ["--fast"]);
/// assert_eq!(config.prepare_exec_timeout, Some(Duration::from_secs(90)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CustomConfig {
    /// The program that describes the job's environment; empty means none.
    pub config_exec: String,
    /// Its first arguments.
    pub config_args: Vec<String>,
    /// The longest it may take. Default: 1 hour.
    #[serde(deserialize_with = "seconds")]
    pub config_exec_timeout: Option<Duration>,
    /// The program that prepares the environment; empty means none.
    pub prepare_exec: String,
    /// Its first arguments.
    pub prepare_args: Vec<String>,
    /// The longest it may take. Default: 1 hour.
    #[serde(deserialize_with = "seconds")]
    pub prepare_exec_timeout: Option<Duration>,
    /// The program that runs a stage; required.
    pub run_exec: String,
    /// Its first arguments, before the script and the stage.
    pub run_args: Vec<String>,
    /// The program that removes the environment; empty means none.
    pub cleanup_exec: String,
    /// Its first arguments.
    pub cleanup_args: Vec<String>,
    /// The longest it may take. Default: 1 hour.
    #[serde(deserialize_with = "seconds")]
    pub cleanup_exec_timeout: Option<Duration>,
    /// The time from SIGTERM to SIGKILL. Default: the runner's own setting, 10 minutes.
    #[serde(deserialize_with = "seconds")]
    pub graceful_kill_timeout: Option<Duration>,
    /// How long a killed program may take to end. Default: the runner's own setting, 10 seconds.
    #[serde(deserialize_with = "seconds")]
    pub force_kill_timeout: Option<Duration>,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let seconds = Option::<i64>::deserialize(deserializer)?.unwrap_or(0);
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    Ok(seconds.map(Duration::from_secs))
}

/// One of the four programs of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Config,
    Prepare,
    Run,
    Cleanup,
}

impl Phase {
    /// Returns the key that names the program.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Config => "config_exec",
            Self::Prepare => "prepare_exec",
            Self::Run => "run_exec",
            Self::Cleanup => "cleanup_exec",
        }
    }
}

impl CustomConfig {
    /// Returns the program of a phase, empty if there is none, and its first arguments.
    pub(crate) fn program(&self, phase: Phase) -> (&str, &[String]) {
        match phase {
            Phase::Config => (&self.config_exec, &self.config_args),
            Phase::Prepare => (&self.prepare_exec, &self.prepare_args),
            Phase::Run => (&self.run_exec, &self.run_args),
            Phase::Cleanup => (&self.cleanup_exec, &self.cleanup_args),
        }
    }

    /// Returns the longest that a phase may take; a stage is limited by the job's timeout alone.
    pub(crate) fn timeout(&self, phase: Phase) -> Option<Duration> {
        let own = match phase {
            Phase::Config => self.config_exec_timeout,
            Phase::Prepare => self.prepare_exec_timeout,
            Phase::Run => return None,
            Phase::Cleanup => self.cleanup_exec_timeout,
        };
        Some(own.unwrap_or(LONGEST_CALL))
    }
}

/// The settings of a provider.
///
/// A runner whose [`settings`](executor_core::RunnerConfig::settings) have a [`CustomConfig`] uses that driver instead.
#[derive(Debug, Clone)]
pub struct CustomOptions {
    /// The driver.
    pub config: CustomConfig,
    /// The builds directory of runners that set none, when the driver reports none. Default: none; such a job fails.
    pub builds_dir: Option<String>,
    /// The cache directory of such runners. Default: `cache`, in the private directory of an attempt.
    pub cache_dir: Option<String>,
    /// How long a background process may hold the output of a call that has ended. Default: 5 seconds.
    pub output_grace: Duration,
    /// Starts the driver, and ends it if the runner dies.
    ///
    /// Default: a supervisor of the provider, started with the first job.
    pub supervisor: Option<Supervisor>,
}

impl Default for CustomOptions {
    fn default() -> Self {
        Self::new(CustomConfig::default())
    }
}

impl CustomOptions {
    /// Returns the defaults for a driver.
    pub fn new(config: CustomConfig) -> Self {
        Self {
            config,
            builds_dir: None,
            cache_dir: None,
            output_grace: Duration::from_secs(5),
            supervisor: None,
        }
    }
}
