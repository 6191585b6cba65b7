//! Files that jobs leave for later ones.

mod collect;
mod local_store;
mod store;

pub(crate) use collect::{CollectError, collect};
pub use local_store::LocalArtifactStore;
pub use store::{ArtifactError, ArtifactFiles, ArtifactStore};
