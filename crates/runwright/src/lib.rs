//! Runwright as one library: the contract, local runs, and one Cargo feature per executor.
//!
//! A program that runs the pipeline of a working tree needs [`local`]; one that runs jobs of its
//! own needs [`core`] and an executor, such as [`shell`].
//!
//! # Examples
//!
//! Run the pipeline of the current directory and see how it ended:
//!
//! ```no_run
//! use runwright::core::Cancellation;
//! use runwright::local::{LocalProject, LocalRun, PipelineOptions, RunOptions, StateDir};
//! use scheduler::event::{EventKind, EventSink, PipelineEvent};
//! use scheduler::RunExit;
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! /// Counts what it is told.
//! #[derive(Debug, Default)]
//! struct Lines(std::sync::atomic::AtomicUsize);
//!
//! impl EventSink for Lines {
//!     fn event(&self, event: &PipelineEvent) {
//!         if let EventKind::JobLog { .. } = event.kind {
//!             self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
//!         }
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let project = LocalProject::find(Path::new("."), None)?;
//! let (pipeline, _warnings) = project.read(&PipelineOptions::default())?.into_result()?;
//! let state = StateDir::of_user()?;
//!
//! let run = LocalRun::prepare(project, &pipeline, &state, RunOptions::default()).await?;
//! let shell = runwright::shell::ShellConfig {
//!     login: false,
//!     supervisor: Some(run.supervisor().clone()),
//!     ..Default::default()
//! };
//! let provider = Arc::new(runwright::shell::provider(shell));
//! let lines = Arc::new(Lines::default());
//! let report = run.execute("shell", provider, lines, &Cancellation::new()).await?;
//! assert_eq!(report.exit, RunExit::Success);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `docker`: the module `docker`, the executor that runs jobs in containers.
//! - `layers`: the module `layers`, wrappers around any provider, one concern each.
//! - `local` (default): [`local`] and [`pipeline`].
//! - `shell` (default): [`shell`], the executor that runs jobs as processes of this host.

#[cfg(feature = "local")]
pub mod by_image;
#[cfg(feature = "local")]
pub mod local;

#[doc(inline)]
pub use executor_core as core;
#[cfg(feature = "docker")]
#[doc(inline)]
pub use executor_docker as docker;
#[cfg(feature = "layers")]
#[doc(inline)]
pub use executor_layers as layers;
#[cfg(feature = "shell")]
#[doc(inline)]
pub use executor_shell as shell;
#[cfg(feature = "local")]
#[doc(inline)]
pub use gitlab_api;
#[cfg(feature = "local")]
#[doc(inline)]
pub use includes;
#[cfg(feature = "local")]
#[doc(inline)]
pub use pipeline;
