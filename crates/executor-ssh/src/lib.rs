//! Runs jobs on other hosts, over SSH.
//!
//! The design and its reasons are in `docs/design/ssh.md`.

mod agent;
mod changes;
mod check;
mod client_config;
mod config;
mod connection;
mod error;
mod executor;
mod files;
mod host;
mod hosts;
mod known_hosts;
mod link;
mod place;
mod provider;
mod shell_stage;
mod spooled;
mod stage;
mod target;
mod terminal;

pub use check::InvalidSetting;
pub use config::{EngineChoice, HostConfig, NAME, SshConfig, SshOptions};
pub use error::{Fingerprint, HostKeyError, HostKeyReason, SshError};
pub use executor::SshExecutor;
pub use provider::{SshProvider, provider};
