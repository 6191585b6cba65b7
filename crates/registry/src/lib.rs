//! Registries of images: names, platforms, logins, and a client.
//!
//! ```
//! use registry::{CredentialSources, Credentials, ImageReference};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let image = ImageReference::parse("registry.example.com/team/app:1.2")?;
//! let sources = CredentialSources {
//!     runner: Some(r#"{"auths": {"registry.example.com": {"username": "ci", "password": "s3cret"}}}"#.into()),
//!     ..CredentialSources::default()
//! };
//! let found = Credentials::new(sources).find(&image.repository()).await;
//! assert_eq!(found.logins[0].login.username, "ci");
//! # Ok(())
//! # }
//! ```
//!
//! - [`ImageReference`] is a name as people write it, [`ImageRepository`] its registry and path, [`TagOrDigest`] the rest,
//!   [`Platform`] the platform of an image.
//! - [`Credentials`] finds logins as docker and GitLab Runner do: in `DOCKER_AUTH_CONFIG`, in `config.json`, from the job,
//!   and from credential helpers. A job chooses the text of its own variable, so [`Credentials`] starts helpers only where
//!   the caller allows it.
//! - With the feature `client`, [`RegistryClient`] opens repositories, and [`RepositoryClient`] downloads and uploads. All
//!   requests go through `web`, so its rules hold for registries, for their token servers and for redirects.
//!
//! No error shows a secret.

mod credential_sources;
mod credentials;
mod docker_config;
mod helper;
mod image_repository;
mod login;
mod name_error;
mod platform;
mod reference;
mod reference_error;
mod registry_key;

#[cfg(feature = "client")]
mod client;

pub use credential_sources::CredentialSources;
pub use credentials::{Credentials, FoundLogins, LoginSource};
pub use image_repository::{Digest, ImageRepository, TagOrDigest, host_of};
pub use login::{LoginSecret, RegistryLogin, SourcedLogin};
pub use name_error::NameError;
pub use platform::Platform;
pub use reference::ImageReference;
pub use reference_error::ReferenceError;

#[cfg(feature = "client")]
pub use client::{
    Access, Descriptor, FileRegion, ImageConfig, MAX_MANIFEST, Manifest, ManifestDocument,
    RegistryClient, RegistryError, RegistryOptions, RepositoryClient,
};
