use crate::gate::Gate;
use crate::scripted::Failure;
use executor_core::{BuildStage, CancelCause, Cancellation, ExitCode, StageResult, StageStatus};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The call a [`Directive`] is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// `ExecutorProvider::acquire`; failures become `AcquireError::Provider`.
    Acquire,
    /// `ExecutorProvider::create`; waits are ignored, because it cannot wait.
    Create,
    /// `Executor::prepare`.
    Prepare,
    /// `Executor::run` of this stage.
    Stage(BuildStage),
    /// `Executor::finish`; only waits and panics have an effect.
    Finish,
    /// `Executor::cleanup`.
    Cleanup,
    /// `ExecutorProvider::release`, after the lease is released; only waits and panics have an effect.
    Release,
}

impl From<BuildStage> for Moment {
    fn from(stage: BuildStage) -> Self {
        Self::Stage(stage)
    }
}

/// The behaviour of a scripted call: print, wait, then fail or end.
///
/// # Examples
///
/// ```
/// use executor_testkit::{Directive, Failure};
/// use std::time::Duration;
///
/// let failing_test = Directive::exit(3).stdout("1 test failed\n").delay(Duration::from_secs(90));
/// let flaky_network = Directive::fail(Failure::temporary("connect")).times(2);
/// ```
#[derive(Debug, Clone)]
pub struct Directive {
    status: StageStatus,
    oom_killed: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    delay: Duration,
    gate: Option<Gate>,
    termination: Duration,
    failure: Option<Failure>,
    job: Option<String>,
    remaining: Option<u32>,
    action: Option<Action>,
}

/// An action of the call.
#[derive(Clone)]
struct Action(Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Action")
    }
}

impl Directive {
    /// Returns a call that succeeds at once.
    pub fn succeed() -> Self {
        Self::exit(0)
    }

    /// Returns a stage that ends with this exit code.
    pub fn exit(code: i32) -> Self {
        Self::end(StageStatus::Exited(ExitCode(code)))
    }

    /// Returns a stage killed by a signal.
    pub fn signal(signal: i32) -> Self {
        Self::end(StageStatus::Signaled { signal })
    }

    /// Returns a stage killed because it is out of memory.
    pub fn oom() -> Self {
        Self {
            oom_killed: true,
            ..Self::signal(9)
        }
    }

    /// Returns a call that fails.
    pub fn fail(failure: Failure) -> Self {
        Self {
            failure: Some(failure),
            ..Self::succeed()
        }
    }

    /// Returns a call that runs until it is stopped.
    pub fn hang() -> Self {
        Self::succeed().until(Gate::new())
    }

    fn end(status: StageStatus) -> Self {
        Self {
            status,
            oom_killed: false,
            stdout: Vec::new(),
            stderr: Vec::new(),
            delay: Duration::ZERO,
            gate: None,
            termination: Duration::ZERO,
            failure: None,
            job: None,
            remaining: None,
            action: None,
        }
    }

    /// Prints to standard output first; for stages and `prepare` only.
    pub fn stdout(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdout = bytes.into();
        self
    }

    /// Prints to standard error first; for stages and `prepare` only.
    pub fn stderr(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stderr = bytes.into();
        self
    }

    /// Waits this long, on tokio's clock.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits at a gate.
    pub fn until(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Takes this long to end after a `cancel`, like a process that handles TERM; `abort` ends it at once.
    pub fn termination(mut self, termination: Duration) -> Self {
        self.termination = termination;
        self
    }

    /// Runs this function first, for example to write the files of a real stage.
    pub fn doing(mut self, action: impl Fn() + Send + Sync + 'static) -> Self {
        self.action = Some(Action(Arc::new(action)));
        self
    }

    /// Applies to jobs with this name only.
    pub fn for_job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Applies to this many calls only; then the next directive for the same moment follows.
    pub fn times(mut self, times: u32) -> Self {
        self.remaining = Some(times);
        self
    }

    /// Takes one use of the directive, if it applies to a job with this name.
    pub(crate) fn take(&mut self, job: &str) -> Option<Self> {
        if self.job.as_deref().is_some_and(|name| name != job) {
            return None;
        }
        match &mut self.remaining {
            Some(0) => return None,
            Some(remaining) => *remaining -= 1,
            None => {}
        }
        Some(self.clone())
    }

    pub(crate) fn act(&self) {
        if let Some(Action(action)) = &self.action {
            action();
        }
    }

    pub(crate) fn output(&self) -> (&[u8], &[u8]) {
        (&self.stdout, &self.stderr)
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    pub(crate) fn result(&self) -> StageResult {
        StageResult {
            oom_killed: self.oom_killed,
            duration: self.delay,
            stdout_bytes: self.stdout.len() as u64,
            stderr_bytes: self.stderr.len() as u64,
            ..StageResult::new(self.status)
        }
    }

    /// Waits; fails with the cause of a stop that comes meanwhile.
    pub(crate) async fn wait(&self, cancellation: &Cancellation) -> Result<(), CancelCause> {
        let cause = tokio::select! {
            biased;
            cause = cancellation.canceled() => cause,
            () = self.pass() => return Ok(()),
        };
        tokio::select! {
            biased;
            _ = cancellation.aborted() => {}
            () = tokio::time::sleep(self.termination) => {}
        }
        Err(cause)
    }

    /// Waits without regard to cancellation.
    pub(crate) async fn pass(&self) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        if let Some(gate) = &self.gate {
            gate.passed().await;
        }
    }
}
