//! Stores trees of files by content: equal bytes are stored once, and a tree is published whole or not at all.
//!
//! ```
//! use content_store::ContentStore;
//! use executor_core::Cancellation;
//! use std::fs;
//! use std::path::PathBuf;
//!
//! # let scratch = tempfile::tempdir()?;
//! # let [job, next, state] = ["job", "next", "state"].map(|name| scratch.path().join(name));
//! # fs::create_dir(&job)?;
//! # fs::create_dir(&next)?;
//! fs::write(job.join("program"), "built")?;
//! let store = ContentStore::at(&state);
//! let nobody_stops = Cancellation::new();
//! let kept = store.keep(&job, &[PathBuf::from("program")], &nobody_stops)?;
//! store.restore(kept.tree(), &next, &nobody_stops)?;
//! assert_eq!(fs::read(next.join("program"))?, b"built");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`ContentStore`], a directory of this host; [`Tree`], a list of paths with their entries;
//! and [`Digest`], which names a content or a tree.
//!
//! # Layout
//!
//! ```text
//! <root>/objects/ab/cd...   contents by their digests, each once
//! <root>/trees/<digest>     trees, as text
//! <root>/layers/<digest>/   trees as directories, for the lower side of an overlay
//! <root>/tmp/               unfinished files and directories
//! <root>/lock               held shared to keep and restore, exclusively to sweep
//! ```
//!
//! Several processes may use a store at once. The design is in `docs/design/data-between-jobs.md`.
//!
//! **Invariant:** no object is hard-linked into a directory that a job may write to.

mod store;
mod tree;

mod digest;
mod directory;
mod entry;
mod error;
mod keep;
mod layer;
mod lock;
mod manifest;
mod restore;
mod sweep;
mod workers;

pub use digest::{Digest, NoDigest};
pub use entry::{Entry, EntryKind, ModifiedAt};
pub use error::StoreError;
pub use keep::Kept;
pub use layer::LowerLayer;
pub use store::{ContentStore, Held};
pub use sweep::Swept;
pub use tree::Tree;
