//! The contract of an executor.

use crate::ability::{FileTransfer, PortProxy, Resumable, StepsConnector, Suspend, Terminal};
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

/// What an executor gets to prepare with.
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// The job.
    pub job: Arc<Job>,
    /// The job's variables with all that the runner adds before there is an environment.
    pub variables: Arc<JobVariables>,
    /// The job's log.
    pub trace: Arc<dyn JobTrace>,
    /// The numbers of the job.
    pub slot: JobSlot,
    /// Where the sources are to be, instead of a directory the executor chooses.
    pub project_dir: Option<String>,
    /// Where to say early where the files are going to be; `None` when nobody wants to know.
    pub planned: Option<PlannedWorkspace>,
}

/// Runs the stages of one job attempt in one environment.
///
/// An executor belongs to one attempt of one job and to one owner, who calls, in this order:
///
/// 1. [`shell`](Self::shell), any number of times;
/// 2. [`prepare`](Self::prepare), once;
/// 3. [`run`](Self::run), once for each stage that has something to do, one after the other;
/// 4. [`finish`](Self::finish), once;
/// 5. [`cleanup`](Self::cleanup), always, also after a failed or cancelled `prepare` or `run`, also
///    when `finish` was never reached, also more than once.
///
/// A new attempt is a new executor.
///
/// **Concurrency.** No two `&mut` calls overlap. [`stage_cell`](Self::stage_cell) and the abilities
/// are taken beforehand and used from anywhere while `run` is busy.
///
/// **Cancellation.** `prepare` and `run` take a [`Cancellation`] and obey it in the leaf that waits:
/// on `cancel` the running command is terminated, given its grace period, then killed; on `abort` it
/// is killed at once. Both then return [`BuildError::Canceled`] with the cause. The future of a call
/// is awaited to its end, never dropped. `cleanup` sees no cancellation: it has a deadline of its own.
///
/// **After a failure.** After an error of `prepare` only `cleanup` follows. After an error of `run`
/// further `run`s may follow: `after_script` and uploads run in the same environment, which `run`
/// must have left usable or must refuse with an error that is not temporary.
///
/// No method has a default body. What executors share is in [`AbstractExecutor`], which most hold as
/// a field and delegate to in one line; an implementation without it is as good as any.
///
/// # Examples
///
/// An executor that runs nothing and says so:
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
///     fn steps(&self) -> Option<Arc<dyn StepsConnector>> {
///         None
///     }
///     fn terminal(&self) -> Option<Arc<dyn Terminal>> {
///         None
///     }
///     fn file_transfer(&self) -> Option<Arc<dyn FileTransfer>> {
///         None
///     }
///     fn port_proxy(&self) -> Option<Arc<dyn PortProxy>> {
///         None
///     }
///     fn suspend(&self) -> Option<Arc<dyn Suspend>> {
///         None
///     }
///     fn resumable(&self) -> Option<Arc<dyn Resumable>> {
///         None
///     }
/// }
/// ```
///
/// [`AbstractExecutor`]: crate::AbstractExecutor
#[async_trait]
pub trait Executor: Send + Debug {
    /// Returns the shell scripts are written for.
    ///
    /// It is asked before `prepare`. An executor that finds its shell only in the environment (an
    /// image may have bash or not) answers with its preference, and the truth is in the
    /// [`PreparedEnvironment`] that `prepare` returns.
    fn shell(&self) -> &ShellInfo;

    /// Makes the environment ready: connects, creates containers, pulls images.
    ///
    /// It makes `builds_dir`, `cache_dir` and the directory above `project_dir` where they are
    /// missing, but leaves `project_dir` itself to the driver; see
    /// [`BuildDirs`](crate::BuildDirs).
    ///
    /// Everything it makes must be found by `cleanup`, also when it fails half way, so note a thing
    /// before making it. When the `ExecutorData` the executor was created with holds a
    /// [`ResumeHandle`](crate::ability::ResumeHandle), it attaches to that environment instead.
    ///
    /// # Errors
    ///
    /// [`BuildError::is_temporary`] decides whether a new executor tries again.
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
    /// separate streams, each in order and without loss. A background process the script left
    /// behind does not hold up the return for longer than a short grace period.
    ///
    /// # Errors
    ///
    /// A script that fails is a result. An error means that it could not be run, or not to its end.
    ///
    /// # Cancellation
    ///
    /// See the trait. When the command ended by itself before it was terminated, its result stands.
    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError>;

    /// Takes note of how the job ended, after all stages and while its log is still open.
    ///
    /// It must not fail the job and must not take long.
    async fn finish(&mut self, outcome: &JobOutcome);

    /// Removes all that `prepare` and `run` made, as far as it is still there.
    ///
    /// It is idempotent, works after any failure, and keeps its own deadline. What it cannot remove
    /// it leaves recorded for the next start of the runner.
    ///
    /// # Errors
    ///
    /// When something is left; the caller notes it and goes on.
    async fn cleanup(&mut self) -> Result<(), BuildError>;

    /// Returns what the executor is doing.
    fn current_stage(&self) -> ExecutorStage;

    /// Says what the executor is doing; executors call it themselves.
    fn set_current_stage(&self, stage: ExecutorStage);

    /// Returns the cell that holds the current stage, for whoever looks while `run` is busy.
    fn stage_cell(&self) -> StageCell;

    /// Returns the way to the step-runner service, once the environment is prepared.
    fn steps(&self) -> Option<Arc<dyn StepsConnector>>;

    /// Returns what opens terminals, once the environment is prepared.
    fn terminal(&self) -> Option<Arc<dyn Terminal>>;

    /// Returns what moves files, once the environment is prepared.
    fn file_transfer(&self) -> Option<Arc<dyn FileTransfer>>;

    /// Returns the way to the ports of services, once the environment is prepared.
    fn port_proxy(&self) -> Option<Arc<dyn PortProxy>>;

    /// Returns what keeps the environment for a later job.
    fn suspend(&self) -> Option<Arc<dyn Suspend>>;

    /// Returns what names the environment for a runner that was restarted.
    fn resumable(&self) -> Option<Arc<dyn Resumable>>;
}
