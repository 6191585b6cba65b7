//! The user's settings about what comes from elsewhere: `config.toml` beside the state.
//!
//! Nothing in a project can change them: they say which servers are trusted.

mod error;
mod instance;
mod place;
mod read;
mod reader;
#[expect(clippy::module_inception, reason = "the noun of this directory")]
mod settings;
mod size;
#[cfg(test)]
mod tests;

pub use error::SettingsError;
pub use instance::{GitUse, InstanceSettings, SshServer, TokenSource};
pub(in crate::local) use reader::{Table, Value, parse as parse_toml};
pub use settings::{CacheSettings, IncludeSettings, Settings};
