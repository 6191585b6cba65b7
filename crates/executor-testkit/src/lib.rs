//! Conformance suite and test doubles for authors of executors.
//!
//! It has two parts.
//!
//! - Authors of **executors** run [`conformance`]: one call checks the whole contract of
//!   `executor-core`, and the [`Report`] shows the violations. [`SuiteOptions`] adapts the suite to slow
//!   and remote executors.
//! - Authors of **drivers** (a job runner, a worker, a scheduler) use test doubles. A
//!   [`ScriptedProvider`] creates executors that follow directives and report calls in a wrong order. A
//!   [`RecordingJobSource`] hands out jobs, a [`RecordingTrace`] stores the log, and one [`Timeline`]
//!   shows the order of all calls.
//!
//! # Examples
//!
//! The whole suite for an executor:
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
//! A driver must clean up after a failing script:
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
//! // All calls were in a valid order, and every executor was cleaned up.
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
mod sample;
mod scripted;
mod timeline;

pub use builder::{CommandBuilder, JobBuilder, OptionsBuilder, runner_config};
pub use clock::ManualClock;
pub use conformance::{
    CheckReport, Report, SuiteOptions, Verdict, check_names, conformance, marked_processes,
};
pub use event::Event;
pub use gate::Gate;
pub use not_tested::not_tested;
pub use recording::{
    CountingTrace, MaskingTrace, RecordingJobSource, RecordingObserver, RecordingTrace, SourceReply,
};
pub use sample::{SAMPLE, is_turn};
pub use scripted::{
    Directive, Failure, JobRunnerDirective, Lease, Moment, ProviderCounts, ScriptedAbilities,
    ScriptedExecutor, ScriptedJobRunner, ScriptedProvider,
};
pub use timeline::Timeline;
