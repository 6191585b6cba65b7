//! Where a job's files come from.

mod git;
pub(crate) mod in_place;
mod snapshot;
mod worktree;

mod attachment;
mod base;
mod contents;
mod copier;
mod error;
mod file_list;
mod inputs;
mod known_contents;
mod means;
mod own_repository;
mod reads;
mod take;

pub(crate) use attachment::Attachment;
pub use contents::{FileContent, TreeContents};
pub use error::SnapshotError;
pub use file_list::{ListError, project_files, taken_files};
pub(crate) use git::{GitSources, NativeGit};
pub(crate) use inputs::Inputs;
pub use means::SnapshotMeans;
pub(crate) use snapshot::{Brought, Place, Stay};
pub use snapshot::{Snapshot, SnapshotUsers};
pub(crate) use worktree::Checkout;
pub use worktree::{Worktree, WorktreeError};

use std::path::PathBuf;
use std::sync::Arc;

/// Where a job's files come from.
#[derive(Debug, Clone)]
pub enum Sources {
    /// From the repository the job names, with git.
    Git(LocalRepositories),
    /// From a working tree on this host, as it was when the first job asked.
    Snapshot(Arc<Snapshot>),
    /// From the commit that is checked out in a working tree on this host, with a Git worktree for
    /// each job.
    Worktree(Arc<Worktree>),
    /// The job runs in this directory itself. Nothing is copied and nothing removed.
    InPlace(PathBuf),
    /// From nowhere: the job starts in an empty directory.
    None,
}

/// Whether a job may name a repository in this host's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalRepositories {
    /// It may not: whoever writes a job could read any repository here.
    Refused,
    /// It may: whoever writes the job owns this host.
    Allowed,
}
