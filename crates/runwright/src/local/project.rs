//! The project a local run is about: a working tree and its pipeline file.

use super::error::LocalError;
use pipeline::diagnostic::Checked;
use pipeline::yaml::{Limits, decode};
use pipeline::{Pipeline, ResolvedPipeline};
use std::fs::{self, File};
use std::io::{self, Read};
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
    /// itself outside of one. `file` is relative to that, or else to `directory`; default
    /// [`DEFAULT_FILE`].
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
        let root = job_runner::toplevel(&directory).unwrap_or_else(|| directory.clone());
        let file = file.map_or_else(
            || PathBuf::from(DEFAULT_FILE),
            |named| {
                let beside = directory.join(named);
                // Whoever names a file names it from where he stands.
                if !root.join(named).exists() && beside.exists() {
                    return beside
                        .strip_prefix(&root)
                        .map_or(beside.clone(), Path::to_owned);
                }
                named.to_owned()
            },
        );
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
        let checked = self.load()?;
        Ok(checked.and_then(|pipeline, diagnostics| Some(pipeline.resolve(diagnostics))))
    }

    /// Reads the pipeline file and what it includes.
    ///
    /// # Errors
    ///
    /// As [`LocalProject::pipeline`].
    pub fn load(&self) -> Result<Checked<Pipeline>, LocalError> {
        let text = self.text()?;
        let name = self.file.display().to_string();
        Ok(Pipeline::from_text(&name, &text))
    }

    fn text(&self) -> Result<String, LocalError> {
        let path = self.root.join(&self.file);
        let bytes = read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => LocalError::NoFile {
                file: self.file.clone(),
                root: self.root.clone(),
            },
            _ => LocalError::File {
                path: path.clone(),
                source,
            },
        })?;
        decode(bytes).map_err(|source| LocalError::NotText {
            file: self.file.clone(),
            source,
        })
    }
}

/// Reads a file that is to be a pipeline, and never more than such a file may hold.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let limit = Limits::default().bytes as u64;
    let mut bytes = Vec::new();
    // One byte more, so that the limit is told of where all limits are.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
