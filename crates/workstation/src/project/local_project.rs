//! The project of a local run: a working tree and its pipeline file.

use crate::error::LocalError;
use crate::project::changed::PipelineFiles;
use crate::project::gitlab_ci_local::{self, read_options};
use crate::project::local_pipeline::LocalPipeline;
use crate::project::pipeline_options::PipelineOptions;
use crate::project::read_file::{ReadError, inside, read_bytes, read_inside, stays_below};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use yaml::decode;
use yaml::diagnostic::Checked;
use yaml::source::SourceMap;

/// The default name of the pipeline file.
pub const DEFAULT_FILE: &str = ".gitlab-ci.yml";

/// A pipeline file for local runs only; it wins over [`DEFAULT_FILE`].
pub const BITRAB_FILE: &str = ".bitrab-ci.yml";

/// A working tree with a pipeline file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalProject {
    root: PathBuf,
    file: PathBuf,
    /// Whether the file must be inside, links resolved, since it or its name came with the project.
    is_own: bool,
    /// The option that names the file, unless the caller does.
    named_by: Option<&'static str>,
}

impl LocalProject {
    /// Finds the project of `directory`: the root of its Git working tree, or the directory itself outside of one.
    /// `file` is relative to that, or else to `directory`; default [`BITRAB_FILE`] if it exists, else
    /// [`DEFAULT_FILE`].
    ///
    /// # Errors
    ///
    /// When the directory does not exist.
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
        let root = git::toplevel(&directory).unwrap_or_else(|| directory.clone());
        let is_own = file.is_none_or(stays_below);
        let (file, named_by) = match file {
            None => default_file(&root),
            Some(named) => {
                let below = root.join(named);
                let beside = directory.join(named);
                // Users name files relative to the current directory too.
                let file = if !below.exists() && beside.exists() {
                    beside
                } else {
                    below
                };
                let file = below_root(&root, &file);
                (file.unwrap_or_else(|| named.to_owned()), None)
            }
        };
        Ok(Self {
            root,
            file,
            is_own,
            named_by,
        })
    }

    /// Sets the option from which the caller has the file, for errors.
    #[must_use]
    pub fn named_by(self, option: &'static str) -> Self {
        Self {
            named_by: Some(option),
            ..self
        }
    }

    /// Returns the directory of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the pipeline file, relative to the root if inside.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the pipeline file with its includes, the files with variables and options, and what the includes need of
    /// the situation.
    ///
    /// # Errors
    ///
    /// When the options contradict each other, or a file cannot be read. Errors in files are in the [`Checked`]
    /// value.
    pub fn read(&self, options: &PipelineOptions) -> Result<Checked<LocalPipeline>, LocalError> {
        LocalPipeline::read(self, options)
    }

    /// Returns the files that may belong to its pipeline besides includes, relative to the root; some may not exist.
    pub fn own_files(&self, options: &PipelineOptions) -> Vec<String> {
        let files = PipelineFiles::of(self, &SourceMap::default(), options);
        files.files().map(str::to_owned).collect()
    }

    /// Refuses a directory that is not in a Git repository.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub fn check_repository(&self) -> Result<(), LocalError> {
        if is_in_repository(&self.root) {
            return Ok(());
        }
        let directory = self.root.clone();
        Err(git::RepositoryError::None { directory }.into())
    }

    /// Returns the text of the pipeline file.
    pub(crate) fn text(&self) -> Result<String, LocalError> {
        let path = self.root.join(&self.file);
        let failed = |error: ReadError| match error {
            ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound => LocalError::NoFile {
                file: self.file.clone(),
                root: self.root.clone(),
                named_by: self.named_by,
            },
            ReadError::Text(source) => LocalError::NotText {
                file: self.file.clone(),
                source,
            },
            error => LocalError::File {
                path: path.clone(),
                source: error.into_io(),
            },
        };
        if self.is_own {
            inside(&self.root, &self.file).map_err(failed)?;
        }
        // Its length is checked with all other limits.
        let bytes = read_bytes(&path).map_err(failed)?;
        decode(bytes).map_err(|error| failed(error.into()))
    }
}

/// Returns whether a directory is in a Git repository.
pub fn is_in_repository(directory: &Path) -> bool {
    git::toplevel(directory).is_some()
}

/// Returns the path of a file relative to the project's root, so that each file has one name. Links are not
/// resolved.
fn below_root(root: &Path, file: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(file.parent()?).ok()?;
    let path = directory.join(file.file_name()?);
    path.strip_prefix(root).ok().map(Path::to_owned)
}

/// Returns the pipeline file that no caller names, with the option of the project that does.
fn default_file(root: &Path) -> (PathBuf, Option<&'static str>) {
    let options = read_inside(root, Path::new(gitlab_ci_local::OPTIONS));
    let named = options.ok().and_then(|text| {
        let options = read_options(gitlab_ci_local::OPTIONS, &text).value?;
        options.file
    });
    if let Some(named) = named {
        return (named, Some(gitlab_ci_local::FILE_OPTION));
    }
    let local = PathBuf::from(BITRAB_FILE);
    let file = if root.join(&local).is_file() {
        local
    } else {
        PathBuf::from(DEFAULT_FILE)
    };
    (file, None)
}
