//! Artifacts: files that jobs save for later jobs. See `docs/design/data-between-jobs.md`.

mod collect;
mod error;
mod found;
mod glob;
mod manifest;
mod pattern;
mod store;
mod stored;

pub(crate) use collect::{Collected, CollectedLine, collect};
pub use error::ArtifactError;
pub(crate) use found::CollectError;
pub use manifest::StoredArtifact;
pub(crate) use pattern::{Pattern, pattern_roots};
pub use store::{ArtifactFiles, ArtifactStore, SavedArtifact};
pub use stored::StoredArtifacts;
