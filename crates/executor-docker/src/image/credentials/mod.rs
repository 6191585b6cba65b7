//! With which names and passwords images are pulled, in GitLab's order.
//!
//! A job's variable `DOCKER_AUTH_CONFIG`, then the runner's own, then the runner's `config.json`, then
//! what the job was sent. In each the entry with the longest path that leads to the image counts; all of
//! them are tried, one after the other.

mod document;
mod helper;
mod key;
mod login;
mod lookup;
mod sources;

pub use lookup::Credentials;
pub use sources::CredentialSources;

pub(crate) use login::{Login, fingerprint};
