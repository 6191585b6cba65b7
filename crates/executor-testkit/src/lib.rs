//! Conformance suite and test doubles for authors of executors.
//!
//! Two kinds of tests need this crate. Whoever **drives** executors (a job runner, a worker, a
//! scheduler) tests against doubles: a [`ScriptedProvider`] makes executors that do what they are
//! told and complain about wrong calls, a [`RecordingJobSource`] hands out jobs, a [`RecordingTrace`]
//! keeps the log, and one [`Timeline`] shows the order of all their calls.
//!
//! # Examples
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
mod recording;
mod scripted;
mod sync;
mod timeline;

pub use builder::{CommandBuilder, JobBuilder, OptionsBuilder, runner_config};
pub use clock::ManualClock;
pub use conformance::{CheckReport, Report, SuiteOptions, Verdict, conformance};
pub use event::Event;
pub use gate::Gate;
pub use recording::{
    CountingTrace, MaskingTrace, RecordingJobSource, RecordingObserver, RecordingTrace, SourceReply,
};
pub use scripted::{
    Abilities, Directive, Failure, JobRunnerDirective, Lease, Moment, ProviderCounts,
    ScriptedExecutor, ScriptedJobRunner, ScriptedProvider,
};
pub use timeline::Timeline;
