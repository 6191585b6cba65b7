//! Runs jobs through a user's programs, by GitLab's custom-executor protocol.
//!
//! A *driver* is up to four programs that the user names: `config_exec`, `prepare_exec`, `run_exec`, `cleanup_exec`.
//! Drivers written for GitLab Runner work unchanged; the keys of [`CustomConfig`] are those of its section
//! `[runners.custom]`.
//!
//! ```
//! use executor_core::prelude::*;
//! use executor_custom::{CustomConfig, CustomOptions};
//!
//! let driver = CustomConfig {
//!     run_exec: "/opt/driver/run.sh".to_owned(),
//!     ..CustomConfig::default()
//! };
//! let provider = executor_custom::provider(CustomOptions::new(driver));
//! let mut features = FeaturesInfo::default();
//! provider.features(&mut features)?;
//! assert!(features.variables && features.shared);
//! # Ok::<(), ProviderError>(())
//! ```
//!
//! # The protocol
//!
//! | call | when | what the driver gets and gives |
//! |---|---|---|
//! | `config_exec` | first in each attempt to prepare | standard output is empty or one JSON object; standard error goes to the log |
//! | `prepare_exec` | then | both streams go to the log |
//! | `run_exec SCRIPT STAGE` | once for each stage | runs the script in its environment; both streams go to the log |
//! | `cleanup_exec` | last in each attempt, always | its output goes to the runner's own log |
//!
//! Each attempt has one private directory, which is `TMPDIR` and the working directory of every call. It holds the scripts
//! and `JOB_RESPONSE_FILE`. The environment is, and later entries win: the runner's, `TMPDIR`, `JOB_RESPONSE_FILE` and the
//! exit codes, `job_env` of the config call, and each job variable as `CUSTOM_ENV_<NAME>`. Standard input is empty.
//!
//! A driver ends with 0, with `BUILD_FAILURE_EXIT_CODE` when the job is at fault (the script's own exit code goes to
//! `BUILD_EXIT_CODE_FILE`), or with `SYSTEM_FAILURE_EXIT_CODE`. Any other end is a system failure too. While preparing, a
//! system failure is retried, by a new executor with another directory.
//!
//! **Secrets.** The only way to a driver's environment is the script, so scripts hold the values of the job's variables.
//! They lie in the private directory until the end of the attempt.
//!
//! # Differences from GitLab Runner
//!
//! - A background process that holds standard output delays the end of a call by [`CustomOptions::output_grace`] at most.
//!   GitLab Runner waits as long as it lives.
//! - Background processes live until the end of `cleanup_exec`, and are then ended, those in sessions of their own
//!   included. What must outlive the job belongs to a service manager. If the runner is killed, they are ended and the
//!   directory is removed, but `cleanup_exec` **cannot run**: a driver finds such leftovers by name in its next call.
//! - An abort, and a cancel before the user's script, sends SIGTERM and after 5 seconds SIGKILL.
//! - A call that exceeds its timeout has failed, even if it ends with 0 after SIGTERM.
//! - Relative directories of the config call are made absolute, below the private directory.
//! - A variable that no shell can export is left out of scripts; one that does not fit into a process environment is left
//!   out of `CUSTOM_ENV_`. A warning in the log names it.
//! - Blank output of `config_exec` counts as empty, and more than 1 MiB as a failure.

mod config;
mod driver;
mod environment;
mod error;
mod executor;
mod exit;
mod job_response;
mod provider;
mod reported_config;
mod script;
mod services;
mod stop;

pub use config::{CustomConfig, CustomOptions};
pub use executor::CustomExecutor;
pub use provider::{NAME, provider};
