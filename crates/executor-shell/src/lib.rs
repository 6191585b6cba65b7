//! Runs jobs as plain shell processes on this host: no isolation, no network of their own.
//!
//! ```
//! use executor_core::prelude::*;
//! use executor_shell::ShellConfig;
//!
//! let provider = executor_shell::provider(ShellConfig {
//!     login: false,
//!     ..ShellConfig::default()
//! });
//! let mut features = FeaturesInfo::default();
//! provider.features(&mut features)?;
//! assert!(features.variables && features.shared);
//! # Ok::<(), ProviderError>(())
//! ```
//!
//! [`provider`] creates the provider from a [`ShellConfig`]; its executors are [`ShellExecutor`]s.
//!
//! Jobs with `run` need the Cargo feature `functions`; without it, they fail with an error that names it.
//!
//! **Guarantees for a job.** Each stage is a shell in a process tree of its own. Its standard input is empty, its output
//! reaches the log as two streams, and nothing that it started outlives it: neither a background process nor one in a
//! session of its own.
//!
//! **Visibility.** A job runs as the runner's user and can read the same files. Its environment extends the runner's, see
//! [`InheritEnvironment`]; the job's variables win.

mod config;
mod directories;
mod environment;
mod error;
mod executor;
mod host;
mod provider;
mod session;
mod session_files;
mod stage_files;
#[cfg(feature = "functions")]
mod step_service;
mod terminal;

pub use config::{InheritEnvironment, ShellConfig};
pub use executor::ShellExecutor;
pub use process::{Containment, Supervisor};
pub use provider::{NAME, provider};
