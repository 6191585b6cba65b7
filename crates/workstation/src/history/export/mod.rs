//! Getting what jobs left out of the state, to where a person wants it.
//!
//! Nothing that is there is written over unless that is asked for, and no link is followed.

mod directory;
mod error;
mod scratch;
mod zip;

pub use error::ExportError;
pub(crate) use scratch::sweep;

use archive::Skipped;
use executor_core::Cancellation;
use job_runner::{StoredArtifact, StoredArtifacts};
use std::path::Path;

/// What becomes of files that are where others are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// They stay, and nothing is written.
    Nothing,
    /// They are written over.
    Files,
}

/// An artifact that somebody wants to have.
#[derive(Debug)]
pub struct Export<'a> {
    /// Where it is kept.
    pub artifacts: &'a StoredArtifacts,
    /// Which it is.
    pub artifact: &'a StoredArtifact,
    /// What becomes of files that are in the way.
    pub overwrite: Overwrite,
}

impl Export<'_> {
    /// Puts the files into a directory, which is made if it is not there. Blocks.
    ///
    /// # Errors
    ///
    /// When something is in the way, or cannot be read or written.
    pub fn into_directory(
        &self,
        directory: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), ExportError> {
        directory::write(self, directory, cancellation)
    }

    /// Packs the files into a zip archive. Blocks. `scratch` is a directory of ours in which it grows;
    /// what a killed process left there is removed. Returns what no zip archive can hold, such as names
    /// with a backslash.
    ///
    /// # Errors
    ///
    /// When something is in the way, or cannot be read or written.
    pub fn into_zip(
        &self,
        file: &Path,
        scratch: &Path,
        cancellation: &Cancellation,
    ) -> Result<Vec<Skipped>, ExportError> {
        zip::write(self, file, scratch, cancellation)
    }
}
