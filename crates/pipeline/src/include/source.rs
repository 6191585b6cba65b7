use crate::repository::Paths;
use std::fmt::Debug;
use std::sync::Arc;
use thiserror::Error;

/// The project a file belongs to, which determines the meaning of `local` in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileHome {
    /// The project of the pipeline, at the commit of the pipeline.
    Own,
    /// Another project, at one commit.
    Project {
        /// The URL of its GitLab, if known.
        server: Option<Arc<str>>,
        /// Its path.
        path: Arc<str>,
        /// The commit's id.
        sha: Arc<str>,
    },
    /// No project: a remote file or a template.
    NoProject,
}

/// The location in an entry of `include`, with its variables expanded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IncludeLocation {
    /// A file of the including file's project, relative to its top.
    Local {
        /// The path, without a leading slash.
        path: String,
    },
    /// A file of another project.
    Project {
        /// The project's path.
        project: String,
        /// The file's path, without a leading slash.
        file: String,
        /// A branch, tag or commit; absent means the default branch.
        reference: Option<String>,
    },
    /// A file at a URL.
    Remote {
        /// The URL.
        url: String,
        /// The expected digest of the file, as `sha256-` and Base64.
        integrity: Option<String>,
        /// The lifetime in a cache, in seconds; absent means no caching.
        cache: Option<u64>,
    },
    /// A template of the GitLab instance.
    Template {
        /// Its name.
        name: String,
    },
    /// A component.
    Component {
        /// Its address, `host/group/project/name@version`.
        address: String,
    },
    /// An artifact of the parent pipeline.
    Artifact {
        /// The job.
        job: String,
        /// The file's path.
        path: String,
    },
}

/// A request for an included file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IncludeRequest {
    /// The location of the file.
    pub location: IncludeLocation,
    /// The project of the including file.
    pub from: FileHome,
}

/// A fetched file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedFile {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// The project it belongs to.
    pub home: FileHome,
    /// The fields of a component (`$[[ component.name ]]`), by name.
    pub component: Vec<(String, String)>,
}

/// Finds the files that a pipeline file includes.
///
/// Reading and merging are the same for all kinds of includes; an implementation only finds the
/// texts. It returns [`IncludeError::NotFetched`] for kinds that it does not support.
pub trait IncludeSource: Debug + Send + Sync {
    /// Returns all paths of a project, for `include: local` with wildcards.
    ///
    /// # Errors
    ///
    /// When the project cannot be read.
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError>;

    /// Returns the requested files, in the order of the requests.
    ///
    /// All requests of one level come at once, so that an implementation can fetch them
    /// concurrently.
    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>>;
}

/// Why a file was not fetched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IncludeError {
    /// There is no such file.
    #[error("the file does not exist")]
    Missing,
    /// The project does not exist or is not accessible.
    #[error("the project `{0}` does not exist or is not accessible")]
    UnknownProject(String),
    /// There is no such branch, tag or commit in the project.
    #[error("the project has no branch, tag or commit `{0}`")]
    UnknownReference(String),
    /// This kind of include is not fetched here; the text has the reason and help.
    #[error("not fetched: {0}")]
    NotFetched(String),
    /// It could not be read.
    #[error("{0}")]
    Unreadable(String),
    /// The source failed, with its own reason and help.
    #[error("{reason}")]
    Failed {
        /// The kind of failure.
        kind: IncludeFailure,
        /// The reason.
        reason: String,
        /// A suggestion for the user.
        help: Option<String>,
    },
}

impl IncludeError {
    /// Returns the error for an artifact of a job without artifacts.
    pub fn no_artifacts() -> Self {
        Self::Failed {
            kind: IncludeFailure::Missing,
            // Do not name the job: its name may contain a secret.
            reason: "no job of this name has artifacts in the parent pipeline".to_owned(),
            help: Some("a job keeps the files of its `artifacts:paths`".to_owned()),
        }
    }
}

/// The kinds of failures of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IncludeFailure {
    /// There is no such file, project or commit.
    Missing,
    /// A server denies access, or the settings deny the server.
    Denied,
    /// The file does not match its digest.
    Integrity,
    /// It is not fetched: offline, or because of a lock.
    NotFetched,
    /// Its name is invalid.
    Invalid,
    /// It exceeds the size limit.
    TooLarge,
    /// It could not be read; a retry may succeed.
    Unreadable,
}

/// A source that has no files.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoIncludes;

impl IncludeSource for NoIncludes {
    fn paths(&self, _home: &FileHome) -> Result<Paths, IncludeError> {
        Ok(Paths::default())
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        let refusal = || IncludeError::NotFetched("no files can be included here".to_owned());
        requests.iter().map(|_| Err(refusal())).collect()
    }
}
