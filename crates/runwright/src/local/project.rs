//! The project a local run is about: a working tree and its pipeline file.

use super::error::LocalError;
use pipeline::ResolvedPipeline;
use pipeline::diagnostic::Checked;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the pipeline file when nobody gives another.
pub const DEFAULT_FILE: &str = ".gitlab-ci.yml";

/// A working tree with a pipeline file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalProject {
    root: PathBuf,
    file: PathBuf,
}

impl LocalProject {
    /// Finds the project that `directory` lies in: the top of its Git working tree, or the directory
    /// itself outside of one. `file` is relative to that; default [`DEFAULT_FILE`].
    ///
    /// # Errors
    ///
    /// When the directory is not there.
    pub fn find(directory: &Path, file: Option<&Path>) -> Result<Self, LocalError> {
        let directory = fs::canonicalize(directory).map_err(|source| LocalError::Directory {
            path: directory.to_owned(),
            source,
        })?;
        if !directory.is_dir() {
            let source = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(LocalError::Directory {
                path: directory,
                source,
            });
        }
        let root = job_runner::toplevel(&directory).unwrap_or(directory);
        let file = file.unwrap_or(Path::new(DEFAULT_FILE)).to_owned();
        Ok(Self { root, file })
    }

    /// Returns the directory of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the pipeline file, relative to the root unless it was given otherwise.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the pipeline file and checks it.
    ///
    /// # Errors
    ///
    /// When the file cannot be read. What is wrong inside it is in the [`Checked`] value.
    pub fn pipeline(&self) -> Result<Checked<ResolvedPipeline>, LocalError> {
        let text = self.text()?;
        let name = self.file.display().to_string();
        Ok(ResolvedPipeline::from_text(&name, &text))
    }

    fn text(&self) -> Result<String, LocalError> {
        let path = self.root.join(&self.file);
        let bytes = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => LocalError::NoFile {
                file: self.file.clone(),
                root: self.root.clone(),
            },
            _ => LocalError::File {
                path: path.clone(),
                source,
            },
        })?;
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = String::from_utf8_lossy(&error.as_bytes()[..valid])
                .matches('\n')
                .count()
                + 1;
            LocalError::NotText {
                file: self.file.clone(),
                line,
            }
        })
    }
}
