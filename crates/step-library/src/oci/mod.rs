//! Images with functions: fetched from registries, and published there.
//!
//! All that is asked goes through `web`, so its rules hold for registries, for who gives tokens for them and for
//! wherever they redirect to.

mod archive;
mod auth;
mod blob;
mod caller;
mod challenge;
mod digest;
mod docker_config;
mod docker_logins;
mod layer;
mod login;
mod manifest;
mod name;
mod platform;
mod publish;
mod pull;
mod registries;
mod registry;
mod tags;
mod upload;

pub use docker_logins::DockerLogins;
pub use login::{Credentials, RegistryLogin};
pub(crate) use name::{ImageName, bare};
pub(crate) use publish::ImagePublisher;
pub(crate) use pull::{ImageFetcher, TREE};
pub(crate) use registries::Registries;
