//! The repository as rules and includes see it.

use std::fmt::Debug;
use std::sync::Arc;
use thiserror::Error;

/// A repository as the rules of a pipeline see it.
///
/// Methods are called only when a rule needs the answer, so an implementation can be lazy. It
/// should cache its answers, because many jobs ask the same question.
pub trait Repository: Debug + Send + Sync {
    /// Returns the paths that the pipeline's commits changed; `None` when they are unknown, in
    /// which case every `changes` matches.
    ///
    /// # Errors
    ///
    /// When the repository cannot be read.
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError>;

    /// Returns the paths that changed between the merge base with `reference` and the pipeline's
    /// commit (`changes:compare_to`).
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
    /// When the project or the commit does not exist, or cannot be reached.
    fn files_of(&self, project: &str, reference: Option<&str>) -> Result<Paths, RepositoryError>;

    /// Returns git's blob id of the file at `path`; `None` when there is no such file.
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

/// An error of a [`Repository`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RepositoryError {
    /// There is no such branch, tag or commit.
    #[error("there is no branch, tag or commit `{0}`")]
    UnknownReference(String),
    /// There is no such project, or it cannot be reached.
    #[error("the project `{0}` does not exist or cannot be reached")]
    UnknownProject(String),
    /// The repository could not be read.
    #[error("{0}")]
    Unreadable(String),
}

/// A repository without files whose changes are unknown.
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

/// A repository with fixed answers. The default has no files and unknown changes.
#[derive(Debug, Clone, Default)]
pub struct KnownRepository {
    /// The changed paths; `None` when unknown.
    pub changed: Option<Paths>,
    /// All paths.
    pub files: Paths,
    /// The changed paths, by the reference they are compared to.
    pub changed_since: Vec<(String, Paths)>,
    /// The paths of other projects.
    pub projects: Vec<(String, Paths)>,
    /// The blob ids of the files, by path.
    pub blob_ids: Vec<(String, String)>,
    /// The ids of the last commits, by path.
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
