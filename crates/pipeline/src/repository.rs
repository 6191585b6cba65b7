//! What rules and includes ask about the files of a repository.

use std::fmt::Debug;
use std::sync::Arc;
use thiserror::Error;

/// A repository as the rules of a pipeline see it.
///
/// Nothing here is asked unless a rule needs it, so that an implementation can look things up when
/// the first question comes; it keeps what it found, because many jobs ask the same.
pub trait Repository: Debug + Send + Sync {
    /// Returns the paths that the pipeline's commits changed; `None` when nobody can know, which
    /// lets every `changes` hold.
    ///
    /// # Errors
    ///
    /// When the repository cannot be read.
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError>;

    /// Returns the paths that changed since the pipeline's commit left `reference`
    /// (`changes:compare_to`).
    ///
    /// # Errors
    ///
    /// When there is no such branch, tag or commit, or the repository cannot be read.
    fn changed_since(&self, reference: &str) -> Result<Paths, RepositoryError>;

    /// Returns all paths of the pipeline's commit.
    ///
    /// # Errors
    ///
    /// When the repository cannot be read.
    fn files(&self) -> Result<Paths, RepositoryError>;

    /// Returns all paths of another project (`exists:project`), at its default branch unless
    /// `reference` names another commit.
    ///
    /// # Errors
    ///
    /// When the project or the commit is not there, or cannot be reached.
    fn files_of(&self, project: &str, reference: Option<&str>) -> Result<Paths, RepositoryError>;

    /// Returns the id of the file at `path`, as Git names its content; `None` when there is none.
    ///
    /// # Errors
    ///
    /// When the repository cannot be read.
    fn blob_id(&self, path: &str) -> Result<Option<String>, RepositoryError>;

    /// Returns the id of the last commit that touched `path`; `None` when there is none.
    ///
    /// # Errors
    ///
    /// When the repository cannot be read.
    fn last_commit_of(&self, path: &str) -> Result<Option<String>, RepositoryError>;
}

/// Paths relative to the top of a repository, with `/` between their parts.
pub type Paths = Arc<[String]>;

/// Why a repository gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RepositoryError {
    /// There is no such branch, tag or commit.
    #[error("there is no branch, tag or commit `{0}`")]
    UnknownReference(String),
    /// There is no such project, or it cannot be reached from here.
    #[error("the project `{0}` is not there, or cannot be reached")]
    UnknownProject(String),
    /// The repository could not be read.
    #[error("{0}")]
    Unreadable(String),
}

/// A repository of which nothing is known: it has no files, and nobody knows what changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRepository;

impl Repository for NoRepository {
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError> {
        Ok(None)
    }

    fn changed_since(&self, reference: &str) -> Result<Paths, RepositoryError> {
        Err(RepositoryError::UnknownReference(reference.to_owned()))
    }

    fn files(&self) -> Result<Paths, RepositoryError> {
        Ok(Paths::default())
    }

    fn files_of(&self, project: &str, _reference: Option<&str>) -> Result<Paths, RepositoryError> {
        Err(RepositoryError::UnknownProject(project.to_owned()))
    }

    fn blob_id(&self, _path: &str) -> Result<Option<String>, RepositoryError> {
        Ok(None)
    }

    fn last_commit_of(&self, _path: &str) -> Result<Option<String>, RepositoryError> {
        Ok(None)
    }
}

/// A repository of which everything is known beforehand. The default knows of no file and of no
/// changes.
#[derive(Debug, Clone, Default)]
pub struct KnownRepository {
    /// The changed paths; `None` when unknown.
    pub changed: Option<Paths>,
    /// All paths.
    pub files: Paths,
    /// The changed paths by what they are compared to.
    pub changed_since: Vec<(String, Paths)>,
    /// The paths of other projects.
    pub projects: Vec<(String, Paths)>,
    /// The ids of the files' contents by path.
    pub blob_ids: Vec<(String, String)>,
    /// The ids of the last commits by path.
    pub last_commits: Vec<(String, String)>,
}

impl Repository for KnownRepository {
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError> {
        Ok(self.changed.clone())
    }

    fn changed_since(&self, reference: &str) -> Result<Paths, RepositoryError> {
        let unknown = || RepositoryError::UnknownReference(reference.to_owned());
        find(&self.changed_since, reference)
            .cloned()
            .ok_or_else(unknown)
    }

    fn files(&self) -> Result<Paths, RepositoryError> {
        Ok(Arc::clone(&self.files))
    }

    fn files_of(&self, project: &str, _reference: Option<&str>) -> Result<Paths, RepositoryError> {
        let unknown = || RepositoryError::UnknownProject(project.to_owned());
        find(&self.projects, project).cloned().ok_or_else(unknown)
    }

    fn blob_id(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        Ok(find(&self.blob_ids, path).cloned())
    }

    fn last_commit_of(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        Ok(find(&self.last_commits, path).cloned())
    }
}

fn find<'l, T>(list: &'l [(String, T)], name: &str) -> Option<&'l T> {
    let found = list.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value)
}
