//! What changed in a working tree since a commit, and which jobs that touches.
//!
//! What changed are the files of all commits since the history of what is checked out and that of a base
//! parted, and what is staged, not staged or new, as long as it is not ignored. A file that is gone counts,
//! and of a renamed one both names. A submodule counts as a folder.
//!
//! It says nothing about `rules:changes`: those see what the situation says, as ever.
//!
//! Where something cannot be known, everything counts as changed, and why is said.

mod pipeline_files;
mod raw_diff;
mod tree_changes;

pub(crate) use pipeline_files::PipelineFiles;
pub use tree_changes::TreeChanges;
