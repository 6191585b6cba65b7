use crate::builder::{CommandBuilder, OptionsBuilder};
use crate::conformance::check::{Outcome, ensure, failed};
use crate::conformance::marked;
use crate::conformance::suite::{Suite, ensure_posix, within};
use crate::recording::RecordingTrace;
use executor_core::{
    BuildDirs, BuildError, BuildStage, Cancellation, Executor, ExecutorData, Job, JobOutcome,
    JobSlot, JobTrace, JobVariable, PrepareOptions, PreparedEnvironment, RunnerConfig,
    StageCommand, StageResult, TraceStream,
};
use std::sync::Arc;
use std::time::Duration;

/// An executor before `prepare`, with its acquired capacity.
#[derive(Debug)]
pub(crate) struct Opening {
    suite: Arc<Suite>,
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) data: ExecutorData,
    pub(crate) trace: RecordingTrace,
    pub(crate) options: PrepareOptions,
}

/// A prepared executor, from `acquire` to `release`.
#[derive(Debug)]
pub(crate) struct Session {
    suite: Arc<Suite>,
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) environment: PreparedEnvironment,
    /// The log, unless the session has another one.
    pub(crate) trace: RecordingTrace,
    /// The job's concurrency numbers.
    pub(crate) slot: JobSlot,
    /// The mark in the environment of all processes of the job.
    pub(crate) mark: String,
    /// The variables of the job that each of its stages has.
    variables: Vec<JobVariable>,
    data: ExecutorData,
}

/// Gives a job an id of its own, and variables that every runner sets: drivers make names of them.
fn numbered(mut job: Job, slot: JobSlot) -> Job {
    job.id.0 += u64::from(slot.concurrent_id);
    let set = [
        ("CI_JOB_ID", job.id.to_string()),
        ("CI_JOB_NAME", job.job_info.name.clone()),
        ("CI_PIPELINE_ID", job.job_info.pipeline_id.to_string()),
        ("CI_PROJECT_ID", job.job_info.project_id.to_string()),
        ("CI_RUNNER_ID", "1".to_owned()),
        ("CI_CONCURRENT_ID", slot.concurrent_id.to_string()),
        (
            "CI_CONCURRENT_PROJECT_ID",
            slot.concurrent_project_id.to_string(),
        ),
    ];
    let set = set.map(|(name, value)| JobVariable::public(name, value));
    // Variables of the suite's job override them.
    job.variables.splice(0..0, set);
    job
}

/// Returns the variables that [`numbered`] has set.
fn of_runner(job: &Job) -> Vec<JobVariable> {
    let set = job.variables.iter();
    set.filter(|it| it.key.starts_with("CI_"))
        .cloned()
        .collect()
}

impl Opening {
    /// Acquires capacity and creates an executor.
    pub(crate) async fn new(suite: &Arc<Suite>) -> Outcome<Self> {
        Self::with_data(suite, |data| data).await
    }

    /// Acquires capacity, changes its data, and creates an executor with the data.
    pub(crate) async fn with_data(
        suite: &Arc<Suite>,
        change: impl FnOnce(ExecutorData) -> ExecutorData,
    ) -> Outcome<Self> {
        let config = suite.options.config.clone();
        let go_on = suite.options.stop.child();
        let acquire = suite.provider.acquire(&config, &go_on);
        let data = match within(suite.options.deadline, "acquire", acquire).await? {
            Ok(data) => change(data),
            Err(error) => return failed(format!("acquire: {error}")),
        };
        let executor = match suite.provider.create(&data) {
            Ok(executor) => executor,
            Err(error) => {
                suite.provider.release(&config, data).await;
                return failed(format!("create: {}", error.chain()));
            }
        };
        let trace = RecordingTrace::new();
        let slot = suite.next_slot();
        let options = OptionsBuilder::new()
            .config(config)
            .job(numbered(suite.options.job.clone(), slot))
            .trace(Arc::new(trace.clone()))
            .slot(slot)
            .build();
        Ok(Self {
            suite: Arc::clone(suite),
            executor,
            data,
            trace,
            options,
        })
    }

    /// Replaces the log; the session's own log then stays empty.
    pub(crate) fn with_trace(mut self, trace: Arc<dyn JobTrace>) -> Self {
        self.options.trace = trace;
        self
    }

    /// Changes the grace period of a cancelled process.
    pub(crate) fn with_grace(self, grace: Duration) -> Self {
        self.with_config(|config| config.graceful_kill_timeout = grace)
    }

    /// Changes the runner's settings for this job.
    pub(crate) fn with_config(mut self, change: impl FnOnce(&mut RunnerConfig)) -> Self {
        change(Arc::make_mut(&mut self.options.config));
        self
    }

    /// Gives the job the numbers of an earlier job.
    pub(crate) fn with_slot(mut self, slot: JobSlot) -> Self {
        self.options.slot = slot;
        self
    }

    /// Adds a variable to the job.
    pub(crate) fn with_variable(mut self, variable: JobVariable) -> Self {
        Arc::make_mut(&mut self.options.variables).push(variable.clone());
        Arc::make_mut(&mut self.options.job)
            .variables
            .push(variable);
        self
    }

    /// Calls `prepare` with the deadline and returns its result.
    pub(crate) async fn attempt(
        &mut self,
        cancellation: &Cancellation,
    ) -> Outcome<Result<PreparedEnvironment, BuildError>> {
        let prepare = self.executor.prepare(self.options.clone(), cancellation);
        within(self.suite.options.deadline, "prepare", prepare).await
    }

    /// Prepares the executor and creates the directory its scripts start in.
    pub(crate) async fn prepare(mut self) -> Outcome<Session> {
        // A driver calls `shell` first.
        let _ = self.executor.shell();
        let stop = self.suite.options.stop.child();
        let prepared = self.attempt(&stop).await;
        let environment = match prepared {
            Ok(Ok(environment)) => environment,
            Ok(Err(error)) => {
                let reason = format!("prepare: {}", error.chain());
                return self.end(failed::<()>(reason)).await.and(failed("prepare"));
            }
            Err(stop) => return self.end(Err(stop)).await.and(failed("prepare")),
        };
        let mut session = Session {
            mark: format!("{}-{}-", self.suite.mark, self.options.slot.concurrent_id),
            suite: self.suite,
            executor: self.executor,
            environment,
            slot: self.options.slot,
            variables: of_runner(&self.options.job),
            trace: self.trace,
            data: self.data,
        };
        match session.make_project_dir().await {
            Ok(()) => Ok(session),
            Err(stop) => session.end(Err(stop)).await.and(failed("prepare")),
        }
    }

    /// Cleans up and releases; returns `outcome` or the error of the cleanup.
    pub(crate) async fn end(mut self, outcome: Outcome) -> Outcome {
        let cleanup = within(
            self.suite.options.deadline,
            "cleanup",
            self.executor.cleanup(),
        )
        .await;
        release(&self.suite, self.data).await;
        outcome?;
        match cleanup? {
            Ok(()) => Ok(()),
            Err(error) => failed(format!("cleanup: {}", error.chain())),
        }
    }
}

impl Session {
    /// Acquires, creates and prepares.
    pub(crate) async fn open(suite: &Arc<Suite>) -> Outcome<Self> {
        Opening::new(suite).await?.prepare().await
    }

    pub(crate) fn dirs(&self) -> &BuildDirs {
        self.environment.workspace.dirs()
    }

    pub(crate) fn is_local(&self) -> bool {
        self.environment.workspace.is_local()
    }

    /// Returns a builder for a marked user script in the project's directory.
    pub(crate) fn command(&self, script: impl Into<String>) -> CommandBuilder {
        let command = CommandBuilder::new(script)
            .working_dir(self.dirs().project_dir.clone())
            .variable(marked::VARIABLE, self.mark.clone());
        let each = self.variables.iter();
        each.fold(command, |command, it| command.variable(&it.key, &it.value))
    }

    /// Calls `run` with the deadline and returns its result.
    pub(crate) async fn attempt(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Outcome<Result<StageResult, BuildError>> {
        let what = format!("run({})", command.stage);
        let run = self.executor.run(command, cancellation);
        within(self.suite.options.deadline, &what, run).await
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&mut self, command: CommandBuilder) -> Outcome<StageResult> {
        let command = command.build();
        let stage = command.stage.clone();
        let stop = self.suite.options.stop.child();
        match self.attempt(command, &stop).await? {
            Ok(result) => Ok(result),
            Err(error) => failed(format!("run({stage}): {}", error.chain())),
        }
    }

    /// Runs a command that must succeed and returns its output.
    pub(crate) async fn print(&mut self, command: CommandBuilder) -> Outcome<Vec<u8>> {
        self.trace.clear();
        let result = self.run(command).await?;
        ensure!(
            result.status.is_success(),
            "the script ended with {}; standard error: {:?}",
            result.status,
            self.trace.text(TraceStream::STDERR)
        );
        Ok(self.trace.bytes(TraceStream::STDOUT))
    }

    /// Runs a script that must succeed with exactly this output.
    pub(crate) async fn expect(&mut self, script: &str, expect: &str) -> Outcome {
        let printed = self.print(self.command(script)).await?;
        let printed = String::from_utf8_lossy(&printed);
        ensure!(printed == expect, "expected {expect:?}, got {printed:?}");
        Ok(())
    }

    /// Runs a command until it prints `ready`, stops it, and returns the result of `run`.
    ///
    /// `limit` is the longest time from the stop to the return.
    pub(crate) async fn stop(
        &mut self,
        command: CommandBuilder,
        stop: impl FnOnce(&Cancellation) + Send,
        limit: Duration,
    ) -> Outcome<Result<StageResult, BuildError>> {
        self.trace.clear();
        let trace = self.trace.clone();
        let cancellation = Cancellation::new();
        let run = self.executor.run(command.build(), &cancellation);
        tokio::pin!(run);
        let ready = trace.wait_for(TraceStream::STDOUT, "ready");
        tokio::select! {
            result = &mut run => {
                return match result {
                    Ok(result) => failed(format!("the script ended before it was stopped: {}", result.status)),
                    Err(error) => failed(format!("run failed before it was stopped: {}", error.chain())),
                };
            }
            ready = within(self.suite.options.deadline, "the script's first output", ready) => ready?,
        }
        stop(&cancellation);
        within(limit, "run, after it was stopped,", run).await
    }

    /// Finishes, cleans up and releases; returns `outcome` or an error of these calls.
    pub(crate) async fn end(mut self, outcome: Outcome) -> Outcome {
        let deadline = self.suite.options.deadline;
        let reported = JobOutcome::success();
        let finish = within(deadline, "finish", self.executor.finish(&reported)).await;
        let cleanup = within(deadline, "cleanup", self.executor.cleanup()).await;
        self.remove_project_dir();
        release(&self.suite, self.data).await;
        outcome?;
        finish?;
        match cleanup? {
            Ok(()) => Ok(()),
            Err(error) => failed(format!("cleanup: {}", error.chain())),
        }
    }

    /// Ends the session and returns its remaining resources.
    pub(crate) async fn end_and_look(self, outcome: Outcome) -> Outcome<Vec<String>> {
        let suite = Arc::clone(&self.suite);
        let can_look = suite.ensure_can_look(self.is_local());
        let mark = self.is_local().then(|| self.mark.clone());
        self.end(outcome.and(can_look)).await?;
        let mut left = match mark {
            Some(mark) => marked::wait_until_gone(&mark, suite.options.promptness).await,
            None => Vec::new(),
        };
        left.extend(suite.leftovers().await);
        Ok(left)
    }

    /// Creates the directory scripts start in, which is the driver's task.
    async fn make_project_dir(&mut self) -> Outcome {
        let shell = self.environment.shell.dialect;
        ensure_posix(shell)?;
        let project_dir = self.dirs().project_dir.clone();
        if self.is_local() {
            return match std::fs::create_dir_all(&project_dir) {
                Ok(()) => Ok(()),
                Err(error) => failed(format!("create {project_dir}: {error}")),
            };
        }
        let command = self
            .command(format!("mkdir -p {}", quoted(&project_dir)))
            .stage(BuildStage::PrepareScript)
            .working_dir("/");
        self.print(command).await.map(drop)
    }

    fn remove_project_dir(&self) {
        if self.is_local() {
            // A check of leftovers reports remaining files, so an error here hides nothing.
            let _ = std::fs::remove_dir_all(&self.dirs().project_dir);
        }
    }
}

async fn release(suite: &Suite, data: ExecutorData) {
    suite.provider.release(&suite.options.config, data).await;
}

/// Quotes a text as one word of a POSIX shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
