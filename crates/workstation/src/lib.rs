//! Runs the pipeline of a working tree on this machine.
//!
//! [`LocalProject`] finds the pipeline file, [`LocalRun`] runs it, [`StateDir`] keeps what outlives
//! the run.
//!
//! # Features
//!
//! None is in the default.
//!
//! - `functions`: jobs with `run`, [`FunctionRun`] and [`UserLibrary`]; it brings gRPC. Without it, such a job fails with an
//!   error that names the feature, and its steps are not checked when a pipeline is read.
//! - `watch`: [`TreeWatch`].

mod by_image;
mod error;
mod history;
mod project;
mod remote;
mod reuse;
mod run;
mod settings;
#[cfg(feature = "watch")]
mod watch;

pub use by_image::{ByImage, ByImageExecutor};
pub use error::{Fault, LocalError};
pub use history::clean::{Cleaning, Fate, Removable, RemovableKind};
pub use history::durations::{Durations, Expectations, JobPlace, JobTime, PastTimes, RunTimes};
pub use history::export::{Export, ExportError, Overwrite};
pub use history::retained_files::RetainedFiles;
pub use history::run_logs::RunLogs;
pub use history::state::{InPlaceLock, PipelineDir, ProjectState, StateDir, StateError};
pub use history::{
    Continuation, ContinuationKind, ControlReply, ControlRequest, JobHistory, JobStanding, Journal,
    KilledRun, Notices, PlayVariable, Run, RunCommand, RunControl, RunControlError, RunEnd,
    RunHistory, RunRecord, RunSituation, RunStanding, RunState, Runs, RunsError,
};
pub use project::bitrab::{BitrabSettings, ParallelBackend};
pub use project::changed::TreeChanges;
pub use project::declared_changes::DeclaredChanges;
pub use project::gitlab_ci_local::{Decoration, Decorations, advice_on_option};
pub use project::hooks::{HookError, HookManager, HookState, PushHook, Pushed, PushedRef};
pub use project::includes::LocalIncludes;
pub use project::local_pipeline::LocalPipeline;
pub use project::local_project::{BITRAB_FILE, DEFAULT_FILE, LocalProject, is_in_repository};
pub use project::pipeline_options::PipelineOptions;
pub use project::repository::GitRepository;
pub use project::situation::{SOURCES, Situation, SituationError, SituationOptions, SituationRef};
#[cfg(feature = "functions")]
pub use remote::user_library::UserLibrary;
pub use remote::vendor::{Vendor, VendorError};
pub use remote::{
    ApiModeError, GitLabStatus, RemoteError, RemoteOptions, StatusAnswer, UserAccounts, UserConfig,
    Variables, VariablesError,
};
pub use reuse::{ReuseMode, ReuseOptions};
pub use run::artifacts::PipelineArtifacts;
pub use run::environments::{
    Deployment, Environment, EnvironmentRunner, EnvironmentState, EnvironmentStep, Environments,
    EnvironmentsError,
};
#[cfg(feature = "functions")]
pub use run::function_run::{FunctionEnd, FunctionRun};
pub use run::isolation::Isolation;
pub use run::resource_groups::MachineResources;
pub use run::session::{JobSession, SessionError};
pub use run::{
    LocalRun, ReservedRun, RunBuilder, RunControls, RunExecutor, RunOptions, end_orphans,
    succeed_killed_run, supervise,
};
pub use settings::{
    CacheSettings, FilePlace, GarbageSettings, GitUse, IncludeSettings, InstanceSettings,
    JobSettings, LayeredValue, SECTIONS, SectionShape, SettingKey, SettingKind, SettingOrigin,
    SettingSection, SettingValue, Settings, SettingsError, SettingsFile, SshServer, TokenSource,
};
#[cfg(feature = "watch")]
pub use watch::{Rounds, TreeNews, TreeWatch, WatchMeans};

#[doc(no_inline)]
pub use git::RepositoryError;
#[cfg(feature = "helper")]
#[doc(no_inline)]
pub use job_runner::helper;
#[doc(no_inline)]
pub use job_runner::{
    ArtifactError, CacheError, FailedScript, JobAccess, JobTerminal, LocalCacheEntry, LocalCaches,
    MayChange, ReachableJobs, RemovedCache, SnapshotError, SnapshotMethod, StoredArtifact,
    StoredArtifacts, Visit, VisitPoint, Visitor, WatchChanges,
};
#[doc(no_inline)]
pub use process::{
    FileLock, LockKind, ProcessError, Stream as ProcessStream, Supervisor, can_mount,
    check_runtime_files, enter_user_namespace, raise_open_file_limit, restore_open_file_limit,
    survive_file_size_limit,
};
#[cfg(feature = "functions")]
#[doc(no_inline)]
pub use steps::language::{Value as InputValue, parse_inputs};
#[cfg(feature = "functions")]
#[doc(no_inline)]
pub use steps::{Library, RunResult, StepReport, StepState, StepsError};
