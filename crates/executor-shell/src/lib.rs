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
//! [`provider`] makes the provider from a [`ShellConfig`]; its executors are [`ShellExecutor`]s.
//!
//! **What a job can count on.** Each stage is a shell of its own in a process tree of its own. Its
//! standard input is empty whatever the script is, its output reaches the log as two streams, and
//! nothing it started outlives it: not a background process, not one in a session of its own.
//!
//! **What a job can see.** It runs as the runner's user and can read what that user can. Its
//! environment begins with the runner's, see [`InheritEnvironment`]; the job's variables win.

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
mod step_service;
mod terminal;

pub use config::{InheritEnvironment, ShellConfig};
pub use executor::ShellExecutor;
pub use process::{Containment, Supervisor};
pub use provider::{NAME, provider};
