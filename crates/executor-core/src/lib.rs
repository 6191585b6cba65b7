//! The contract between CI jobs and the environments they run in: two traits and plain data.
//!
//! An [`ExecutorProvider`] creates executors of one kind and owns the resources they share; an
//! [`Executor`] runs the stages of one job in one environment. This crate has the two traits, their
//! parameter types, and the parts that all implementations share. It does no I/O and knows no back
//! end.
//!
//! Start with three types: [`Executor`], [`ExecutorProvider`] and [`BuildError`]. An executor holds an
//! [`AbstractExecutor`] and is created by a [`DefaultExecutorProvider`]. A program that runs jobs
//! registers providers in a [`ProviderRegistry`] and drives them with a [`Worker`].
//!
//! # Examples
//!
//! ```
//! use executor_core::prelude::*;
//!
//! // A provider reports its features before it receives work.
//! let provider = DefaultExecutorProvider::new(ShellDialect::platform_default())
//!     .with_creator(|_data| Err(BuildError::config("this example creates nothing")))
//!     .with_features(|features| features.variables = true);
//!
//! let mut features = FeaturesInfo::default();
//! provider.features(&mut features)?;
//! assert_eq!(features.names(), ["variables"]);
//! # Ok::<(), ProviderError>(())
//! ```
//!
//! # The life of a job
//!
//! ```text
//! Worker: acquire -> JobSource::next -> JobRunner::run(job, data) -> release
//!   run: create -> prepare (typed retry) -> for each stage: run -> finish -> cleanup
//! ```

pub mod ability;
pub mod cancellation;
pub mod job;
pub mod panics;
pub mod prelude;
pub mod shell;
pub mod stage;
pub mod trace;
pub mod variable;

mod abstract_executor;
mod active_jobs;
mod command;
mod config;
mod default_provider;
mod endpoint;
mod error;
mod executor;
mod executor_data;
mod features;
mod human_duration;
mod layer;
mod parse_duration;
mod planned_workspace;
mod products;
mod provider;
mod registry;
mod result;
mod settings;
mod slot;
mod source;
mod stage_status;
mod terminal;
mod typed_bag;
mod worker;
mod workspace;

pub use abstract_executor::{AbstractExecutor, AbstractExecutorOptions};
pub use active_jobs::{ActiveJob, ActiveJobGuard, ActiveJobs};
pub use cancellation::{CancelCause, Cancellation, JobStop, StopLevel};
pub use command::{FileVariable, Placement, StageCommand, StageVariables};
pub use config::RunnerConfig;
pub use default_provider::DefaultExecutorProvider;
pub use endpoint::Endpoint;
pub use error::{
    AcquireError, BoxError, BuildError, FailureReason, ProviderError, Retryability, chain,
    limit_hint,
};
pub use executor::{Executor, PrepareOptions};
pub use executor_data::ExecutorData;
pub use features::{ConfigInfo, FeaturesInfo};
pub use human_duration::{HumanAge, HumanDuration, counted};
pub use job::{Job, JobId, PipelineId};
pub use layer::{ProviderLayer, ProviderStack};
pub use parse_duration::parse_duration;
pub use planned_workspace::PlannedWorkspace;
pub use products::{ChangedFiles, FailedTest, JobProducts, RetainedArtifact, TestTotals};
pub use provider::ExecutorProvider;
pub use registry::{ProviderRegistry, RegisterError};
pub use result::{JobOutcome, JobState, ReusedFrom, StageReport, StageResult, TraceSummary};
pub use settings::ExecutorSettings;
pub use shell::{ShellDialect, ShellInfo, ShellKind};
pub use slot::{JobSlot, JobSlotGuard, JobSlots};
pub use source::{
    JobAssignment, JobObserver, JobRequest, JobRunner, JobSource, JobSourceError, NextJob,
    RunContext,
};
pub use stage::{BuildStage, ExecutorStage, StageCell, StageIo};
pub use stage_status::{ExitCode, StageStatus};
pub use trace::{JobTrace, JobTraceExt, StreamKind, TraceStream};
pub use variable::{JobVariable, JobVariables};
pub use worker::{ErrorPolicy, TurnOutcome, Worker, WorkerError};
pub use workspace::{BuildDirs, PreparedEnvironment, Workspace};
