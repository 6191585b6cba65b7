use crate::project::gitlab_ci_local::Decorations;
use crate::project::project_context::names_commit_variables;
use crate::project::read_file::read_text;
use crate::project::repository::GitRepository;
use crate::run::artifacts::PipelineArtifacts;
use parking_lot::Mutex;
use pipeline::include::{
    FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile,
};
use pipeline::repository::{Paths, Repository};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Finds included files in the working tree, also untracked ones.
///
/// No path leads out of the tree, and only files are read. Other kinds of includes are not fetched.
#[derive(Debug)]
pub struct LocalIncludes {
    root: PathBuf,
    repository: Arc<GitRepository>,
    /// Whether a file names variables of the commit.
    has_commit_variables: AtomicBool,
    decorations: Mutex<Decorations>,
    /// The artifacts of the parent pipeline, for a child pipeline.
    artifacts: Option<PipelineArtifacts>,
}

impl LocalIncludes {
    /// Returns the files of the working tree at `root`, that of `repository`.
    pub fn new(root: &Path, repository: Arc<GitRepository>) -> Self {
        Self {
            root: root.to_owned(),
            repository,
            has_commit_variables: AtomicBool::new(false),
            decorations: Mutex::default(),
            artifacts: None,
        }
    }

    /// Adds the artifacts of the parent pipeline, for a child pipeline.
    pub fn with_artifacts(mut self, artifacts: PipelineArtifacts) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Returns whether a file names variables that only git knows.
    pub(crate) fn has_commit_variables(&self) -> bool {
        self.has_commit_variables.load(Ordering::Relaxed)
    }

    /// Returns the decorations in the files.
    pub(crate) fn take_decorations(&self) -> Decorations {
        std::mem::take(&mut *self.decorations.lock())
    }

    fn fetch_one(&self, request: &IncludeRequest) -> Result<IncludedFile, IncludeError> {
        match (&request.location, &request.from) {
            (IncludeLocation::Local { path }, FileHome::Own) => self.local(path),
            (IncludeLocation::Artifact { job, path }, _) => self.artifact(job, path),
            _ => Err(not_fetched()),
        }
    }

    fn artifact(&self, job: &str, path: &str) -> Result<IncludedFile, IncludeError> {
        let Some(artifacts) = &self.artifacts else {
            return Err(IncludeError::NotFetched(
                "artifacts exist only after their jobs ran".to_owned(),
            ));
        };
        let directory = artifacts.directory_of(job)?;
        let (name, text) = read_below(directory.path(), path, "artifacts")?;
        if names_commit_variables(&text) {
            self.has_commit_variables.store(true, Ordering::Relaxed);
        }
        Ok(IncludedFile {
            name: format!("{} of the job {job}", name.display()),
            text: text.into(),
            home: FileHome::Own,
            component: Vec::new(),
        })
    }

    fn local(&self, path: &str) -> Result<IncludedFile, IncludeError> {
        let (name, text) = read_below(&self.root, path, "project")?;
        if names_commit_variables(&text) {
            self.has_commit_variables.store(true, Ordering::Relaxed);
        }
        let mut decorations = self.decorations.lock();
        decorations.extend(Decorations::read(&text));
        Ok(IncludedFile {
            name: name.to_string_lossy().into_owned(),
            text: text.into(),
            home: FileHome::Own,
            component: Vec::new(),
        })
    }
}

impl IncludeSource for LocalIncludes {
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        match home {
            FileHome::Own => {
                let files = self.repository.files();
                files.map_err(|error| IncludeError::Unreadable(error.to_string()))
            }
            FileHome::Project { .. } => Err(not_fetched()),
            FileHome::NoProject => Ok(Paths::default()),
        }
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        requests.iter().map(|it| self.fetch_one(it)).collect()
    }
}

/// Reads a file below a directory, which messages call `place`. Returns also its path there.
fn read_below(
    root: &Path,
    path: &str,
    place: &'static str,
) -> Result<(PathBuf, String), IncludeError> {
    let name = normalized(path, place)?;
    // A link may lead to another file within the tree.
    let real = fs::canonicalize(root.join(&name)).map_err(|error| missing_or(&error))?;
    let root = fs::canonicalize(root).map_err(|error| missing_or(&error))?;
    if !real.starts_with(&root) {
        let reason = format!("the file is a link that leads out of the {place}");
        return Err(IncludeError::Unreadable(reason));
    }
    let text = read_text(&real).map_err(|error| IncludeError::Unreadable(error.to_string()))?;
    Ok((name, text))
}

/// Returns the path relative to the root, without `.` and `..`.
fn normalized(path: &str, place: &'static str) -> Result<PathBuf, IncludeError> {
    if path.contains('\0') {
        return Err(IncludeError::Missing);
    }
    let mut plain = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) if part == ".git" => return Err(IncludeError::Missing),
            Component::Normal(part) => plain.push(part),
            Component::ParentDir if plain.pop() => {}
            Component::ParentDir => {
                let reason = format!("the path leads out of the {place}");
                return Err(IncludeError::Unreadable(reason));
            }
            // As in GitLab, a leading slash means the root of the project.
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(plain)
}

fn missing_or(error: &std::io::Error) -> IncludeError {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            IncludeError::Missing
        }
        _ => IncludeError::Unreadable(error.to_string()),
    }
}

fn not_fetched() -> IncludeError {
    IncludeError::NotFetched("only files of the working tree are read here".to_owned())
}
