use crate::repository::Paths;
use std::fmt::Debug;
use std::sync::Arc;
use thiserror::Error;

/// Where a file lives, which decides what `local` means inside it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileHome {
    /// The project of the pipeline, at the commit of the pipeline.
    Own,
    /// Another project, at one commit.
    Project {
        /// The address of the GitLab it is on, where that is known.
        server: Option<Arc<str>>,
        /// Its path.
        path: Arc<str>,
        /// The commit's id.
        sha: Arc<str>,
    },
    /// No project: a file from an address, or a template.
    Nowhere,
}

/// What an `include` names; every variable in it is replaced already.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IncludeLocation {
    /// A file of the project the including file lives in, relative to its top.
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
    /// A file at an address.
    Remote {
        /// The address.
        url: String,
        /// What the file's bytes must hash to, as `sha256-` and Base64.
        integrity: Option<String>,
        /// How long it may be taken from a cache, in seconds; absent means not at all.
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
    /// A file that a job of the parent pipeline left.
    Artifact {
        /// The job.
        job: String,
        /// The file's path.
        path: String,
    },
}

/// A file that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IncludeRequest {
    /// What is named.
    pub location: IncludeLocation,
    /// Where the file lives that names it.
    pub from: FileHome,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedFile {
    /// The name that messages call it by.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// Where it lives.
    pub home: FileHome,
    /// What a component can know of itself (`$[[ component.name ]]`), by name.
    pub component: Vec<(String, String)>,
}

/// Finds the files that a pipeline file includes.
///
/// Reading and merging is the same for all kinds of includes; only how a text is found differs, and
/// that is asked here. The kinds an implementation does not know it answers with
/// [`IncludeError::NotFetched`].
pub trait IncludeSource: Debug + Send + Sync {
    /// Returns all paths of the project a file lives in, for `include: local` with wildcards.
    ///
    /// # Errors
    ///
    /// When the project cannot be read.
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError>;

    /// Returns the files that one file names, in the order of the requests.
    ///
    /// All of them come at once, so that an implementation can fetch them side by side.
    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>>;
}

/// Why there is no file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IncludeError {
    /// There is no such file.
    #[error("the file does not exist")]
    Missing,
    /// There is no such project, or nobody may read it.
    #[error("the project `{0}` does not exist, or may not be read")]
    UnknownProject(String),
    /// There is no such branch, tag or commit in the project.
    #[error("the project has no branch, tag or commit `{0}`")]
    UnknownReference(String),
    /// This kind of include is not fetched here; the words say why and what helps.
    #[error("not fetched: {0}")]
    NotFetched(String),
    /// It could not be read.
    #[error("{0}")]
    Unreadable(String),
    /// Whoever looked for it tells why it is not had, and what helps.
    #[error("{reason}")]
    Failed {
        /// What kind of reason it is.
        kind: IncludeFailure,
        /// What happened.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
}

impl IncludeError {
    /// Returns the error for an artifact of a job that left none.
    pub fn no_artifacts() -> Self {
        Self::Failed {
            kind: IncludeFailure::Missing,
            // The job's name may hold the value of a secret, which is not known here.
            reason: "no job of this name left artifacts in the parent pipeline".to_owned(),
            help: Some("a job keeps the files that its `artifacts:paths` name".to_owned()),
        }
    }
}

/// The kinds of reasons why a file is not had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IncludeFailure {
    /// There is no such file, project or commit.
    Missing,
    /// A server refuses whoever asks, or the rules refuse the server.
    Denied,
    /// The file is not the one that was meant.
    Integrity,
    /// It is not asked for: offline, or because of a lock.
    NotFetched,
    /// It is named in a way that means nothing.
    Invalid,
    /// It is longer than files are read.
    TooLarge,
    /// It could not be read, which may be different next time.
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
