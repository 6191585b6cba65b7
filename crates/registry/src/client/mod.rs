//! A client for registries: manifests, blobs and tags.

mod auth;
mod caller;
mod challenge;
mod download;
mod error;
mod manifest;
mod registry_client;
mod repository_client;
mod upload;

pub use error::RegistryError;
pub use manifest::{Descriptor, ImageConfig, MAX_MANIFEST, Manifest};
pub use registry_client::{RegistryClient, RegistryOptions};
pub use repository_client::{Access, RepositoryClient};
pub use upload::{FileRegion, ManifestDocument};
