//! Conformance suite and test doubles for authors of executors.
//!
//! Two kinds of people need this crate.
//!
//! - Who **writes** an executor runs [`conformance`] on it: one call checks all that the contract of
//!   `executor-core` asks for, and [`Report`] says what is wrong. [`SuiteOptions`] fits the suite to
//!   executors that are slow or remote.
//! - Who **drives** executors (a job runner, a worker, a scheduler) tests against doubles: a
//!   [`ScriptedProvider`] makes executors that do what they are told and complain about wrong calls, a
//!   [`RecordingJobSource`] hands out jobs, a [`RecordingTrace`] keeps the log, and one [`Timeline`]
//!   shows the order of all their calls.
//!
//! # Examples
//!
//! The whole suite, for an executor of one's own:
//!
//! ```no_run
//! use executor_core::prelude::*;
//! use executor_testkit::{SuiteOptions, conformance, runner_config};
//!
//! fn provider() -> Arc<dyn ExecutorProvider> {
//!     let provider = DefaultExecutorProvider::new(ShellDialect::Sh)
//!         .with_creator(|_data| Err(BuildError::config("put your executor here")));
//!     Arc::new(provider)
//! }
//!
//! // In a test: #[tokio::test(flavor = "multi_thread")]
//! # #[tokio::main]
//! async fn main() {
//!     let mut config = runner_config("mine");
//!     config.builds_dir = Some("a/directory/of/the/suite/alone".to_owned());
//!     let report = conformance(provider(), SuiteOptions::new(config)).await;
//!     report.assert_passed();
//! }
//! ```
//!
//! A driver meets an executor whose script fails, and must clean up all the same:
//!
//! ```
//! use executor_core::{BuildStage, Cancellation, ExecutorData, ExecutorProvider};
//! use executor_testkit::{CommandBuilder, Directive, OptionsBuilder, ScriptedProvider};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provider = ScriptedProvider::new();
//! provider.on(BuildStage::script(), Directive::exit(3).stderr("no such target\n"));
//!
//! let go_on = Cancellation::new();
//! let mut executor = provider.create(&ExecutorData::new())?;
//! executor.prepare(OptionsBuilder::new().build(), &go_on).await?;
//! let result = executor.run(CommandBuilder::new("make").build(), &go_on).await?;
//! assert_eq!(result.status.exit_code().0, 3);
//! executor.cleanup().await?;
//!
//! // Nothing was called in a wrong order, nothing was left behind.
//! provider.assert_obeyed();
//! # Ok(())
//! # }
//! ```

mod builder;
mod clock;
mod conformance;
mod event;
mod gate;
mod not_tested;
mod recording;
mod scripted;
mod sync;
mod timeline;

pub use builder::{CommandBuilder, JobBuilder, OptionsBuilder, runner_config};
pub use clock::ManualClock;
pub use conformance::{CheckReport, Report, SuiteOptions, Verdict, conformance};
pub use event::Event;
pub use gate::Gate;
pub use not_tested::not_tested;
pub use recording::{
    CountingTrace, MaskingTrace, RecordingJobSource, RecordingObserver, RecordingTrace, SourceReply,
};
pub use scripted::{
    Abilities, Directive, Failure, JobRunnerDirective, Lease, Moment, ProviderCounts,
    ScriptedExecutor, ScriptedJobRunner, ScriptedProvider,
};
pub use timeline::Timeline;
