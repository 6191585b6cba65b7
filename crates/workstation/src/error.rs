use crate::history::RunsError;
use crate::history::export::ExportError;
use crate::history::state::StateError;
use crate::project::hooks::HookError;
use crate::project::repository::BlockingGitError;
use crate::remote::{ApiModeError, VariablesError};
use crate::run::environments::EnvironmentsError;
use crate::settings::SettingsError;
use executor_core::ProviderError;
use pipeline::PlanError;
use std::io;
use std::path::PathBuf;

/// Why a local run did not start or finish.
///
/// A failed job is not an error: it is in the report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The executor does not start.
    #[error("start the executor")]
    Executor(#[from] ProviderError),
    /// The directory cannot be used.
    #[error("open directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// There is no pipeline file.
    #[error("no {} in {}{}", file.display(), root.display(), naming(*named_by))]
    NoFile {
        /// The expected file.
        file: PathBuf,
        /// The root of the project.
        root: PathBuf,
        /// The option that names it, unless the caller does.
        named_by: Option<&'static str>,
    },
    /// The pipeline file cannot be read.
    #[error("read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The pipeline file is not text.
    #[error("read {} as text", file.display())]
    NotText {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        source: yaml::DecodeError,
    },
    /// The repository cannot be described.
    #[error("describe the repository")]
    Repository(#[from] git::RepositoryError),
    /// Jobs cannot have worktrees of a repository without commits.
    #[error("jobs in worktrees need a commit, and {} has none", root.display())]
    NoCommit {
        /// The root of the project.
        root: PathBuf,
    },
    /// The options of the situation are invalid.
    #[error(transparent)]
    Situation(#[from] crate::project::situation::SituationError),
    /// Git failed.
    #[error("read the repository with git")]
    Git(#[source] executor_core::BoxError),
    /// The variables of a GitLab cannot be read.
    #[error("read the variables from GitLab")]
    Variables(#[from] VariablesError),
    /// The GitLab did not read the pipeline file.
    #[error("let GitLab read the pipeline file")]
    ApiMode(#[from] ApiModeError),
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The list of deployment environments cannot be used.
    #[error(transparent)]
    Environments(#[from] EnvironmentsError),
    /// The caches of jobs cannot be read.
    #[error("read the caches of jobs")]
    Cache(#[from] job_runner::CacheError),
    /// The working tree cannot be watched.
    #[cfg(feature = "watch")]
    #[error("watch the working tree: {0}")]
    Watch(String),
    /// An artifact cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The pre-push hook cannot be read or changed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The step-runner service cannot start, or did not end properly.
    #[cfg(feature = "functions")]
    #[error("run the step-runner service")]
    Steps(#[source] steps::ServiceError),
    /// The fetched functions cannot be read.
    #[cfg(feature = "functions")]
    #[error("read the fetched functions")]
    Functions(#[source] steps::LibraryError),
    /// The selected jobs cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The snapshot of the working tree cannot be taken.
    #[error(transparent)]
    Snapshot(#[from] job_runner::SnapshotError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// A run cannot be read, written or continued.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A job cannot be entered.
    #[error(transparent)]
    Session(#[from] crate::run::session::SessionError),
    /// The processes of the run cannot be supervised.
    #[error("prepare to run processes")]
    Process(#[from] process::ProcessError),
}

impl From<BlockingGitError> for LocalError {
    fn from(error: BlockingGitError) -> Self {
        match error {
            BlockingGitError::Repository(error) => Self::Repository(error),
            error => Self::Git(error.into()),
        }
    }
}

/// Who can correct an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The user: the command line, the settings or the pipeline file are wrong.
    Usage,
    /// The machine, a server or this program does not work.
    System,
}

impl LocalError {
    /// Returns who can correct it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Variables(error) => error.fault(),
            Self::ApiMode(error) => error.fault(),
            Self::Directory { .. }
            | Self::NoFile { .. }
            | Self::File { .. }
            | Self::NotText { .. }
            | Self::Repository(git::RepositoryError::None { .. })
            | Self::NoCommit { .. }
            | Self::Situation(_)
            | Self::Settings(_)
            | Self::Session(_)
            | Self::Environments(EnvironmentsError::Unknown { .. })
            | Self::Hook(HookError::TwoOriginals { .. } | HookError::Managed { .. })
            | Self::Export(ExportError::Exists { .. } | ExportError::ThroughLink { .. })
            | Self::State(StateError::Running { .. })
            | Self::Runs(
                RunsError::None { .. } | RunsError::NoneYet { .. } | RunsError::NothingToDo { .. },
            )
            | Self::Plan(_) => Fault::Usage,
            Self::Repository(_)
            | Self::Git(_)
            | Self::Snapshot(_)
            | Self::State(_)
            | Self::Cache(_)
            | Self::Export(_)
            | Self::Environments(_)
            | Self::Hook(_)
            | Self::Runs(_)
            | Self::Process(_)
            | Self::Executor(_) => Fault::System,
            #[cfg(feature = "functions")]
            Self::Functions(_) | Self::Steps(_) => Fault::System,
            #[cfg(feature = "watch")]
            Self::Watch(_) => Fault::System,
        }
    }
}

fn naming(option: Option<&str>) -> String {
    option.map_or_else(String::new, |option| format!(", which {option} names"))
}
