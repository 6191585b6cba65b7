//! Removing what runs left, at the user's request.
//!
//! What a running pipeline uses stays: the lock of a run or a cache is held while parts of it are removed.

mod caches;
mod runs;

use crate::error::LocalError;
use crate::history::state::{ProjectState, StateDir};
use jiff::Timestamp;
use serde::Serialize;
use std::path::PathBuf;

/// What to remove, of one project or of all.
#[derive(Debug)]
pub struct Cleaning<'s> {
    /// The state of all projects.
    pub state: &'s StateDir,
    /// The project; `None` means all of them.
    pub project: Option<&'s ProjectState>,
    /// Only what ended, or was last used, before this time.
    pub before: Option<Timestamp>,
    /// Whether to list it only.
    pub dry_run: bool,
}

/// Something that can be removed, and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removable {
    /// Its kind.
    pub kind: RemovableKind,
    /// Its name: the number of a run, the key of a cache, the name of a job.
    pub name: String,
    /// Its project, if known.
    pub project: Option<PathBuf>,
    /// Its size in bytes. Files that several runs share count for each of them.
    pub bytes: u64,
    /// What happened to it.
    pub fate: Fate,
}

/// The kind of something that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovableKind {
    /// A run with its logs and artifacts.
    Run,
    /// The artifacts of a run.
    Artifacts,
    /// A cache.
    Cache,
    /// The reusable result of a job.
    Reuse,
    /// Functions of the step language that were fetched from servers.
    Functions,
}

/// What happened to something that can be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was only listed.
    Seen,
    /// It was removed.
    Removed,
    /// A run or another program uses it.
    InUse,
    /// It could not be removed.
    Stays(String),
}

impl Cleaning<'_> {
    /// Removes runs that have ended, with their logs and artifacts. Blocks.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn runs(&self) -> Result<Vec<Removable>, LocalError> {
        runs::clean(self, RemovableKind::Run)
    }

    /// Removes the artifacts of runs that have ended. Blocks.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn artifacts(&self) -> Result<Vec<Removable>, LocalError> {
        runs::clean(self, RemovableKind::Artifacts)
    }

    /// Removes caches. Blocks.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn caches(&self) -> Result<Vec<Removable>, LocalError> {
        caches::clean_caches(self)
    }

    /// Removes reusable results of jobs. Blocks.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn reuse(&self) -> Result<Vec<Removable>, LocalError> {
        caches::clean_reuse(self)
    }

    /// Removes functions that were fetched from git repositories and registries, which all projects share. Blocks.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    #[cfg(feature = "functions")]
    pub fn functions(&self) -> Result<Vec<Removable>, LocalError> {
        caches::clean_functions(self)
    }

    fn is_old_enough(&self, used: impl TryInto<Timestamp>) -> bool {
        let used = used.try_into().unwrap_or(Timestamp::MIN);
        self.before.is_none_or(|before| used < before)
    }

    /// Removes the files that only removed entries needed.
    fn sweep_after(&self, entries: &[Removable]) {
        if entries.iter().any(|it| it.fate == Fate::Removed)
            && let Err(error) = self.state.kept_files().sweep()
        {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "Unused files stay for now.");
        }
    }

    /// Removes something, unless it should only be listed.
    fn remove(&self, remove: impl FnOnce() -> Fate) -> Fate {
        if self.dry_run { Fate::Seen } else { remove() }
    }
}
