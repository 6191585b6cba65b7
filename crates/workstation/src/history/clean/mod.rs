//! Removing what runs have left, on somebody's wish.
//!
//! What a living run uses stays: the lock of a run is held while something of it is removed, and
//! so is that of a cache.

mod caches;
mod functions;
mod reused;
mod runs;

use crate::error::LocalError;
use crate::history::state::{ProjectState, StateDir};
use jiff::Timestamp;
use serde::Serialize;
use std::path::PathBuf;

/// What somebody wants to be removed, of one project or of all.
#[derive(Debug)]
pub struct Cleaning<'s> {
    /// Where all state is.
    pub state: &'s StateDir,
    /// The project; `None` means all of them.
    pub project: Option<&'s ProjectState>,
    /// Only what ended, or was used last, before this moment.
    pub before: Option<Timestamp>,
    /// Whether it is only looked at.
    pub dry_run: bool,
}

/// Something that could be removed, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removable {
    /// What it is.
    pub kind: RemovableKind,
    /// Its name: the number of a run, the key of a cache, the name of a job.
    pub name: String,
    /// The project it belongs to, where that is known.
    pub project: Option<PathBuf>,
    /// How many bytes it has. What several runs left alike counts for each.
    pub bytes: u64,
    /// What became of it.
    pub fate: Fate,
}

/// What something is that could be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovableKind {
    /// All that is known of a run.
    Run,
    /// The artifacts of a run.
    Artifacts,
    /// A cache.
    Cache,
    /// What is kept of a job, so that it need not run again.
    Reuse,
    /// Functions of the step language that were fetched from elsewhere.
    Functions,
}

/// What became of something that was to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was only looked at.
    Seen,
    /// It is gone.
    Removed,
    /// A living run, or another program, uses it.
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
        caches::clean(self)
    }

    /// Removes jobs that are kept so that they need not run again. Blocks.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn reuse(&self) -> Result<Vec<Removable>, LocalError> {
        reused::clean(self)
    }

    /// Removes functions that were fetched from git repositories and registries, which all projects share. Blocks.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn functions(&self) -> Result<Vec<Removable>, LocalError> {
        functions::clean(self)
    }

    fn is_old_enough(&self, moment: Timestamp) -> bool {
        self.before.is_none_or(|before| moment < before)
    }
}
