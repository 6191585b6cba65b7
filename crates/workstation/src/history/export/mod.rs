//! Copying artifacts out of the state.
//!
//! Existing files are overwritten only on request, and links are not followed.

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

/// Whether existing files are overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// An existing file is an error, and nothing is written.
    Nothing,
    /// Existing files are overwritten.
    Files,
}

/// An artifact to copy out of the state.
#[derive(Debug)]
pub struct Export<'a> {
    /// The store that has it.
    pub artifacts: &'a StoredArtifacts,
    /// The artifact.
    pub artifact: &'a StoredArtifact,
    /// Whether existing files are overwritten.
    pub overwrite: Overwrite,
    /// Files of a pipeline, relative to the directory of the export, whose content no artifact may change.
    pub pipeline_files: &'a [&'a str],
}

impl Export<'_> {
    /// Copies the files into a directory, which is created if necessary. Blocks.
    ///
    /// # Errors
    ///
    /// When a file exists, would change a repository or the pipeline, or cannot be read or written.
    pub fn into_directory(
        &self,
        directory: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), ExportError> {
        directory::write(self, directory, cancellation)
    }

    /// Packs the files into a zip archive. Blocks. The archive is written in the directory `scratch` first; leftovers
    /// of killed processes there are removed. Returns the entries that a zip archive cannot contain, such as names
    /// with a backslash.
    ///
    /// # Errors
    ///
    /// When a file exists, or cannot be read or written.
    pub fn into_zip(
        &self,
        file: &Path,
        scratch: &Path,
        cancellation: &Cancellation,
    ) -> Result<Vec<Skipped>, ExportError> {
        zip::write(self, file, scratch, cancellation)
    }
}
