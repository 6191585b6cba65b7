//! Runwright as one library: the contract, local runs, and one Cargo feature per executor.
//!
//! A program that runs the pipeline of a working tree needs [`LocalProject`], [`LocalRun`] and an executor such as
//! [`shell`]; one that runs jobs of its own needs [`Executor`], [`ExecutorProvider`] and the rest of [`core`]. The names
//! most programs need are at the root; each crate is reachable as a module.
//!
//! # Examples
//!
//! Run the pipeline of the current directory and count the lines of its jobs:
//!
//! ```no_run
//! use runwright::scheduler::event::EventKind;
//! use runwright::shell::ShellConfig;
//! use runwright::{
//!     Cancellation, EventSink, LocalProject, LocalRun, PipelineEvent, PipelineOptions, RunExit,
//! };
//! use std::path::Path;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! /// Counts lines of logs.
//! #[derive(Debug, Default)]
//! struct Lines(AtomicUsize);
//!
//! impl EventSink for Lines {
//!     fn event(&self, event: &PipelineEvent) {
//!         if let EventKind::JobLog { .. } = event.kind {
//!             self.0.fetch_add(1, Ordering::Relaxed);
//!         }
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let project = LocalProject::find(Path::new("."), None)?;
//! let (pipeline, _warnings) = project.read(&PipelineOptions::default())?.into_result()?;
//!
//! let run = LocalRun::builder(&pipeline)
//!     .executor(ShellConfig::default())
//!     .prepare()
//!     .await?;
//! let lines = Arc::new(Lines::default());
//! let report = run.execute(lines, &Cancellation::new()).await?;
//! assert_eq!(report.exit, RunExit::Success);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `custom`: the module `custom`, the executor of drivers written for GitLab Runner's custom executor.
//! - `docker`: the module `docker`, the executor that runs jobs in containers.
//! - `driver`: the module `driver`, the executor that runs jobs through a driver, a program in any language.
//! - `functions`: jobs with `run`, in the shell executor and in local runs; it includes `remote`.
//! - `kubernetes`: the module `kubernetes`, the executor that runs jobs as pods of a cluster.
//! - `layers`: the module `layers`, wrappers around any provider, one concern each.
//! - `local` (default): [`workstation`], [`pipeline`] and [`scheduler`].
//! - `machine`: the module `machine`, a layer that gives each job a machine from a pool.
//! - `remote`: requests over HTTP: includes of addresses and templates, GitLab's API. Without it, included projects
//!   are fetched by git.
//! - `shell` (default): [`shell`], the executor that runs jobs as processes of this host.
//! - `ssh`: the module `ssh`, the executor that runs jobs on other hosts.
//! - `watch`: `workstation::TreeWatch`, which watches a working tree for changes.

#[doc(inline)]
pub use executor_core as core;
#[cfg(feature = "custom")]
#[doc(inline)]
pub use executor_custom as custom;
#[cfg(feature = "docker")]
#[doc(inline)]
pub use executor_docker as docker;
#[cfg(feature = "driver")]
#[doc(inline)]
pub use executor_driver as driver;
#[cfg(feature = "kubernetes")]
#[doc(inline)]
pub use executor_kubernetes as kubernetes;
#[cfg(feature = "layers")]
#[doc(inline)]
pub use executor_layers as layers;
#[cfg(feature = "machine")]
#[doc(inline)]
pub use executor_machine as machine;
#[cfg(feature = "shell")]
#[doc(inline)]
pub use executor_shell as shell;
#[cfg(feature = "ssh")]
#[doc(inline)]
pub use executor_ssh as ssh;
#[cfg(feature = "local")]
#[doc(inline)]
pub use {pipeline, scheduler, workstation};

#[doc(no_inline)]
pub use executor_core::{
    BuildError, CancelCause, Cancellation, DefaultExecutorProvider, Executor, ExecutorData,
    ExecutorProvider, Job, JobOutcome, JobTrace, ProviderRegistry, ProviderStack, RunnerConfig,
    Worker,
};
#[cfg(feature = "local")]
#[doc(no_inline)]
pub use pipeline::{Plan, ResolvedPipeline};
#[cfg(feature = "local")]
#[doc(no_inline)]
pub use scheduler::{EventSink, JobReport, PipelineEvent, PipelineReport, RunExit, Status};
#[cfg(feature = "local")]
#[doc(no_inline)]
pub use workstation::{
    LocalError, LocalPipeline, LocalProject, LocalRun, PipelineOptions, RunBuilder, RunControls,
    RunExecutor, RunOptions, StateDir,
};
