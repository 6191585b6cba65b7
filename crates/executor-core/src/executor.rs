//! The contract of an executor.

use crate::ability::Abilities;
use crate::cancellation::Cancellation;
use crate::command::StageCommand;
use crate::config::RunnerConfig;
use crate::error::BuildError;
use crate::job::Job;
use crate::planned_workspace::PlannedWorkspace;
use crate::result::{JobOutcome, StageResult};
use crate::shell::ShellInfo;
use crate::slot::JobSlot;
use crate::stage::{ExecutorStage, StageCell};
use crate::trace::JobTrace;
use crate::variable::JobVariables;
use crate::workspace::PreparedEnvironment;
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// The input of [`Executor::prepare`].
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// The job.
    pub job: Arc<Job>,
    /// The job's variables, with those that the runner adds before there is an environment.
    pub variables: Arc<JobVariables>,
    /// The job's log.
    pub trace: Arc<dyn JobTrace>,
    /// The job's concurrency numbers.
    pub slot: JobSlot,
    /// The directory for the sources; `None` lets the executor choose.
    pub project_dir: Option<String>,
    /// Receives the directories before `prepare` returns; `None` when the driver does not need them early.
    pub planned: Option<PlannedWorkspace>,
}

/// Runs the stages of one job attempt in one environment.
///
/// An executor belongs to one attempt of one job and to one owner, the driver. It calls, in this order:
///
/// 1. [`shell`](Self::shell), any number of times;
/// 2. [`prepare`](Self::prepare), once;
/// 3. [`run`](Self::run), once for each stage that has a script, one after the other;
/// 4. [`finish`](Self::finish), once;
/// 5. [`cleanup`](Self::cleanup), always: after a failed or cancelled `prepare` or `run`, without a
///    `finish`, and more than once.
///
/// A new attempt uses a new executor.
///
/// **Concurrency.** No two `&mut` calls overlap. The driver takes [`stage_cell`](Self::stage_cell) and
/// the abilities beforehand and may use them from any task while `run` is busy.
///
/// **Cancellation.** `prepare` and `run` take a [`Cancellation`] and obey it in the leaf that waits.
/// On `cancel` they terminate the running command and kill it after the grace period; on `abort` they
/// kill it at once. Both then return [`BuildError::Canceled`] with the cause. The driver awaits the
/// future of a call to its end and never drops it. `cleanup` takes no cancellation: it has its own deadline, and
/// after an abort a few seconds. At their end its future is dropped.
///
/// **After a failure.** After an error of `prepare`, only `cleanup` follows. After an error of `run`,
/// more calls of `run` may follow for `after_script` and uploads, in the same environment. When that
/// environment is no longer usable, `run` returns an error that is not temporary.
///
/// No method has a default body. Most executors hold an [`AbstractExecutor`] as a field and delegate
/// to it in one line, but it is not required.
///
/// # Examples
///
/// An executor that refuses every script:
///
/// ```
/// use executor_core::prelude::*;
///
/// #[derive(Debug)]
/// struct Nowhere {
///     base: AbstractExecutor,
/// }
///
/// #[async_trait]
/// impl Executor for Nowhere {
///     fn shell(&self) -> &ShellInfo {
///         self.base.shell()
///     }
///     async fn prepare(
///         &mut self,
///         options: PrepareOptions,
///         _cancellation: &Cancellation,
///     ) -> Result<PreparedEnvironment, BuildError> {
///         self.base.prepare(options)?;
///         Ok(self.base.remote_environment("nowhere", None)?)
///     }
///     async fn run(
///         &mut self,
///         _command: StageCommand,
///         _cancellation: &Cancellation,
///     ) -> Result<StageResult, BuildError> {
///         self.base.set_current_stage(ExecutorStage::RUN);
///         Err(BuildError::config("nothing runs nowhere"))
///     }
///     async fn finish(&mut self, outcome: &JobOutcome) {
///         self.base.finish(outcome);
///     }
///     async fn cleanup(&mut self) -> Result<(), BuildError> {
///         self.base.cleanup();
///         Ok(())
///     }
///     fn current_stage(&self) -> ExecutorStage {
///         self.base.current_stage()
///     }
///     fn set_current_stage(&self, stage: ExecutorStage) {
///         self.base.set_current_stage(stage);
///     }
///     fn stage_cell(&self) -> StageCell {
///         self.base.stage_cell()
///     }
///     fn abilities(&self) -> Abilities {
///         Abilities::none()
///     }
/// }
/// ```
///
/// [`AbstractExecutor`]: crate::AbstractExecutor
#[async_trait]
pub trait Executor: Send + Debug {
    /// Returns the shell that scripts are written for.
    ///
    /// The driver calls it before `prepare`. An executor that detects its shell in the environment (an
    /// image may lack bash) returns its preference here; the [`PreparedEnvironment`] has the actual shell.
    fn shell(&self) -> &ShellInfo;

    /// Prepares the environment: connects, creates containers, pulls images.
    ///
    /// It creates `builds_dir`, `cache_dir` and the parent of `project_dir` where they are missing, but
    /// leaves `project_dir` itself to the driver; see [`BuildDirs`](crate::BuildDirs).
    ///
    /// `cleanup` must find everything it creates, also after a failure halfway, so record a resource
    /// before creating it. When the `ExecutorData` passed to `create` holds a
    /// [`ResumeHandle`](crate::ability::ResumeHandle), it attaches to that environment instead.
    ///
    /// # Errors
    ///
    /// [`BuildError::is_temporary`] decides whether the driver retries with a new executor.
    ///
    /// # Cancellation
    ///
    /// Stops soon and returns [`BuildError::Canceled`]; there is no grace period.
    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError>;

    /// Runs one stage and returns when its main process has ended and its output is in the log.
    ///
    /// The script's standard input is empty. Standard output and standard error go to the trace as
    /// separate streams, each in order and without loss. A background process that outlives the script
    /// delays the return by a short grace period at most.
    ///
    /// # Errors
    ///
    /// A failed script is a result. An error means that the script could not be run to its end.
    ///
    /// # Cancellation
    ///
    /// See the trait. When the command ends by itself before it is terminated, `run` returns its result.
    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError>;

    /// Receives the job's outcome, after all stages and while its log is still open.
    ///
    /// It must not fail the job and must not take long.
    async fn finish(&mut self, outcome: &JobOutcome);

    /// Removes everything that `prepare` and `run` created and that still exists.
    ///
    /// It is idempotent, works after any failure, and has its own deadline. It leaves a record of what
    /// it cannot remove for the next start of the runner.
    ///
    /// # Errors
    ///
    /// When a resource remains; the caller logs the error and continues.
    async fn cleanup(&mut self) -> Result<(), BuildError>;

    /// Returns the current stage.
    fn current_stage(&self) -> ExecutorStage;

    /// Sets the current stage; executors call it themselves.
    fn set_current_stage(&self, stage: ExecutorStage);

    /// Returns the cell that holds the current stage, readable while `run` is busy.
    fn stage_cell(&self) -> StageCell;

    /// Returns what the executor can do besides running stages, once the environment is prepared.
    ///
    /// Ask again after `prepare`: most abilities need the environment.
    fn abilities(&self) -> Abilities;
}
