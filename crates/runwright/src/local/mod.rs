//! Pipelines of a working tree on this machine.
//!
//! [`LocalProject`] finds the pipeline file, [`LocalRun`] runs it, [`StateDir`] keeps what outlives
//! the run.

mod artifacts;
mod bitrab;
mod caches;
mod changed;
mod children;
mod clean;
mod declared_changes;
mod durations;
mod elsewhere;
mod environments;
mod error;
mod export;
mod file;
mod fingerprint;
mod function_run;
mod gitlab_ci_local;
mod given;
mod given_files;
mod hooks;
mod includes;
mod isolation;
mod kept_files;
mod local_pipeline;
mod logs;
mod pipeline_options;
mod project;
mod repository;
mod resources;
mod reuse;
mod run;
mod run_steps;
mod runs;
mod session;
mod settings;
mod situation;
mod state;
mod surroundings;
mod user_library;
mod vendor;
mod watch;

pub use artifacts::PipelineArtifacts;
pub use bitrab::{BitrabSettings, ParallelBackend};
pub use changed::TreeChanges;
pub use clean::{Cleaning, Fate, Removable, RemovableKind};
pub use declared_changes::DeclaredChanges;
pub use durations::{Durations, Expectations, JobPlace, JobTime, PastTimes, RunTimes};
pub use elsewhere::{
    ApiModeError, ElsewhereError, ElsewhereOptions, GitLabStatus, StatusAnswer, UserAccounts,
    UserSurroundings, Variables, VariablesError,
};
pub use environments::{
    Deployment, Environment, EnvironmentRunner, EnvironmentState, EnvironmentStep, Environments,
    EnvironmentsError,
};
pub use error::{Fault, LocalError};
pub use export::{Export, ExportError, Overwrite};
pub use function_run::{FunctionEnd, FunctionRun};
pub use gitlab_ci_local::{Decoration, Decorations};
pub use hooks::{HookError, HookManager, HookState, PushHook, Pushed, PushedRef};
pub use includes::LocalIncludes;
pub use isolation::Isolation;
pub use kept_files::KeptFiles;
pub use local_pipeline::LocalPipeline;
pub use logs::RunLogs;
pub use pipeline_options::PipelineOptions;
pub use project::{BITRAB_FILE, DEFAULT_FILE, LocalProject, is_in_repository};
pub use repository::GitRepository;
pub use resources::MachineResources;
pub use reuse::{ReuseMode, ReuseOptions};
pub use run::{LocalRun, RunControls, RunOptions};
pub use runs::{
    Continuation, ContinuationKind, ControlReply, ControlRequest, JobHistory, JobStanding, Journal,
    KilledRun, Notices, PlayVariable, Run, RunCommand, RunControl, RunControlError, RunEnd,
    RunHistory, RunRecord, RunSituation, RunStanding, RunState, Runs, RunsError,
};
pub use session::{JobSession, SessionError};
pub use settings::{
    CacheSettings, FilePlace, GarbageSettings, GitUse, IncludeSettings, InstanceSettings,
    JobSettings, SECTIONS, Said, SectionShape, SettingKey, SettingKind, SettingOrigin,
    SettingSection, SettingValue, Settings, SettingsError, SettingsFile, SshServer, TokenSource,
    settings_page,
};
pub use situation::{SOURCES, Situation, SituationError, SituationOptions, SituationRef};
pub use state::{InPlaceLock, PipelineDir, ProjectState, StateDir, StateError};
pub use user_library::UserLibrary;
pub use vendor::{Vendor, VendorError};
pub use watch::{Rounds, TreeNews, TreeWatch, WatchMeans};

#[doc(no_inline)]
pub use job_runner::{
    ArtifactError, CacheError, FailedScript, JobTerminal, LocalCacheEntry, LocalCaches, MayChange,
    RemovedCache, RepositoryError, SnapshotError, SnapshotMeans, StoredArtifact, StoredArtifacts,
    Terminals, Visit, VisitPoint, Visitor, WatchChanges,
};
#[doc(no_inline)]
pub use process::{
    ProcessError, Stream as ProcessStream, Supervisor, can_mount, enter_user_namespace,
};
#[doc(no_inline)]
pub use steps::language::{Value as InputValue, given_inputs};
#[doc(no_inline)]
pub use steps::{Library, RunResult, StepReport, StepState, StepsError};
