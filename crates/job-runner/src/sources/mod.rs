//! Where a job's files come from.

mod file_list;
mod git;
pub(crate) mod in_place;
mod local_copy;
mod own_repository;

pub use file_list::ListError;
pub(crate) use git::{GitSources, NativeGit};
pub use local_copy::{CopyError, LocalCopy};

use std::path::PathBuf;
use std::sync::Arc;

/// Where a job's files come from.
#[derive(Debug, Clone)]
pub enum Sources {
    /// From the repository the job names, with git.
    Git(LocalRepositories),
    /// From a working tree on this host, as it is at this moment.
    LocalCopy(Arc<LocalCopy>),
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
