//! Where a job's files come from.

mod git;
mod snapshot;
mod worktree;

mod base;
mod contents;
mod copier;
mod destination;
mod error;
mod file_list;
mod host_reads;
mod inputs;
mod job_repository;
mod known_contents;
mod method;
mod shallow;
mod tree_copy;

pub use contents::{FileContent, TreeContents};
pub(crate) use destination::{Destination, Lifetime};
pub use error::SnapshotError;
pub use file_list::{ListError, project_files, taken_files};
pub(crate) use git::{GitSources, NativeGit};
pub(crate) use inputs::Inputs;
pub use method::SnapshotMethod;
pub(crate) use shallow::cut;
pub(crate) use snapshot::SnapshotCopy;
pub use snapshot::{Snapshot, SnapshotUsers};
pub(crate) use worktree::Checkout;
pub use worktree::{Worktree, WorktreeError};

use base::Layer;
use executor_core::{BuildError, Retryability};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a job's files come from.
#[derive(Debug, Clone)]
pub enum Sources {
    /// From the repository the job names, with git.
    Git(LocalRepositories),
    /// From a working tree on this host, as it was when the first job started.
    Snapshot(Arc<Snapshot>),
    /// From the commit that is checked out in a working tree on this host, with a Git worktree for
    /// each job.
    Worktree(Arc<Worktree>),
    /// The job runs in this directory itself. Nothing is copied and nothing removed.
    InPlace(PathBuf),
    /// The job starts in an empty directory.
    None,
}

/// Whether a job may name a repository in this host's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalRepositories {
    /// It may not: the author of a job could read any repository on this host.
    Refused,
    /// It may: the author of the job owns this host.
    Allowed,
}

/// The mount or the worktree behind a job's directory.
#[derive(Debug)]
pub(crate) enum Attachment {
    /// An overlay is mounted on it.
    Layer(Layer),
    /// It is a worktree of a repository.
    Checkout(Checkout),
}

impl Attachment {
    /// Unmounts or unregisters it. The job's processes must have ended.
    pub(crate) async fn remove(self) -> Result<(), BuildError> {
        match self {
            Self::Layer(layer) => layer.remove().await,
            Self::Checkout(checkout) => checkout.remove().await,
        }
    }
}

/// Checks that the user's tree in which a job runs exists; it is never created.
///
/// # Errors
///
/// A permanent system failure when it does not.
pub(crate) fn check_in_place(tree: &Path) -> Result<(), BuildError> {
    if tree.is_dir() {
        return Ok(());
    }
    Err(BuildError::System {
        backend: "runner",
        message: format!("the working tree {} is gone", tree.display()),
        source: None,
        retry: Retryability::Permanent,
    })
}
