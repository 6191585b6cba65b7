//! Why a local run did not take place.

use crate::history::RunsError;
use crate::history::export::ExportError;
use crate::history::state::StateError;
use crate::project::hooks::HookError;
use crate::project::repository::BlockingGitError;
use crate::remote::{ApiModeError, VariablesError};
use crate::run::environments::EnvironmentsError;
use crate::settings::SettingsError;
use pipeline::PlanError;
use std::io;
use std::path::PathBuf;

/// Why a local run did not take place, or not to its end.
///
/// A job that fails is no error: it is in the report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The directory to work in cannot be used.
    #[error("open directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// There is no pipeline file.
    #[error("no {} in {}", file.display(), root.display())]
    NoFile {
        /// The file that was looked for.
        file: PathBuf,
        /// Where.
        root: PathBuf,
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
    /// The pipeline file is no text.
    #[error("read {} as text", file.display())]
    NotText {
        /// The file.
        file: PathBuf,
        /// What it is instead.
        #[source]
        source: yaml::DecodeError,
    },
    /// The repository cannot be described.
    #[error("describe the repository")]
    Repository(#[from] git::RepositoryError),
    /// The situation cannot be.
    #[error(transparent)]
    Situation(#[from] crate::project::situation::SituationError),
    /// Git could not be asked.
    #[error("ask git about the project")]
    Git(#[source] executor_core::BoxError),
    /// The variables that a GitLab keeps cannot be had.
    #[error("take the variables from GitLab")]
    Variables(#[from] VariablesError),
    /// The GitLab that should read the pipeline file does not.
    #[error("let GitLab read the pipeline file")]
    ApiMode(#[from] ApiModeError),
    /// What the project says of its runs is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The list of environments cannot be used.
    #[error(transparent)]
    Environments(#[from] EnvironmentsError),
    /// The caches of jobs cannot be read.
    #[error("read what jobs keep in caches")]
    Cache(#[from] job_runner::CacheError),
    /// The working tree cannot be watched.
    #[error("watch the working tree: {0}")]
    Watch(String),
    /// What a job left cannot be got out.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The hook before a push cannot be looked at or changed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The service that runs steps cannot be had, or did not end in order.
    #[error("run the step-runner service")]
    Steps(#[source] steps::ServiceError),
    /// The functions that were fetched cannot be read.
    #[error("read the functions that steps brought")]
    Functions(#[source] steps::LibraryError),
    /// The selected jobs cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The working tree cannot be kept for the jobs in the way that was asked for.
    #[error(transparent)]
    Snapshot(#[from] job_runner::SnapshotError),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// What is known of runs cannot be read or written, or a run cannot be gone on with.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A job cannot be entered.
    #[error(transparent)]
    Session(#[from] crate::run::session::SessionError),
    /// The processes of the run cannot be held together.
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

/// Whose turn it is to mend an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The one who asked: the command line, the settings or the pipeline file are wrong.
    Usage,
    /// The machine, or this program.
    Environment,
}

impl LocalError {
    /// Returns whose turn it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Variables(error) => error.fault(),
            Self::ApiMode(error) => error.fault(),
            Self::Directory { .. }
            | Self::NoFile { .. }
            | Self::File { .. }
            | Self::NotText { .. }
            | Self::Repository(git::RepositoryError::None { .. })
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
            | Self::Watch(_)
            | Self::State(_)
            | Self::Cache(_)
            | Self::Functions(_)
            | Self::Export(_)
            | Self::Environments(_)
            | Self::Hook(_)
            | Self::Runs(_)
            | Self::Process(_)
            | Self::Steps(_) => Fault::Environment,
        }
    }
}
