//! The changes of a working tree since a commit.
//!
//! Changed files are those of all commits since the merge base, and staged, unstaged and new files that are not
//! ignored. Removed files count, and both names of a renamed one. A submodule counts as a folder.
//!
//! `rules:changes` is independent of this: it depends on the situation.
//!
//! If the changes are unknown, everything counts as changed, with the reason.

mod pipeline_files;
mod raw_diff;
mod tree_changes;

pub(crate) use pipeline_files::PipelineFiles;
pub use tree_changes::TreeChanges;
