//! The executor: a job of the inner executor on a machine of the pool.

use crate::pool::{Lease, TakeError};
use crate::ticket::Ticket;
use async_trait::async_trait;
use executor_core::ability::{Abilities, Resumable, ResumeHandle, ResumeObserver};
use executor_core::{
    BuildError, CancelCause, Cancellation, Executor, ExecutorData, ExecutorProvider, ExecutorStage,
    JobOutcome, JobTraceExt, PrepareOptions, PreparedEnvironment, Retryability, ShellInfo,
    StageCell, StageCommand, StageResult,
};
use std::sync::Arc;

/// The name of this executor in errors.
const NAME: &str = "machine";

/// The field of a handle with the machine's name.
const MACHINE: &str = "machine";

/// Runs a job by the inner executor, on the machine that `prepare` finds reserved or waits for.
///
/// A machine where the inner executor fails to prepare, loses the environment or cannot clean up is checked before its next
/// job, and another attempt of the same job gets another machine.
///
/// The handles of resumable jobs get a field with the machine's name. A job with such a handle continues there.
#[derive(Debug)]
pub struct MachineExecutor {
    inner: Box<dyn Executor>,
    provider: Arc<dyn ExecutorProvider>,
    ticket: Arc<Ticket>,
    data: ExecutorData,
    /// Held until the cleanup has ended.
    lease: Option<Arc<Lease>>,
    /// Follows the inner executor, for readers that took the cell before it had its machine.
    stage: StageCell,
}

impl MachineExecutor {
    pub(crate) fn new(
        provider: Arc<dyn ExecutorProvider>,
        ticket: Arc<Ticket>,
        data: ExecutorData,
    ) -> Result<Self, BuildError> {
        // Knows no machine yet, and is asked for its shell alone.
        let inner = provider.create(&data)?;
        let stage = StageCell::new();
        stage.follow(inner.stage_cell());
        Ok(Self {
            inner,
            provider,
            ticket,
            data,
            lease: None,
            stage,
        })
    }

    /// Has the machine checked if it may be at fault, and returns whether it may.
    fn doubt_after(&self, error: &BuildError) -> bool {
        let is_system = matches!(
            error,
            BuildError::System { .. }
                | BuildError::Timeout { .. }
                | BuildError::Canceled(CancelCause::EnvironmentLost)
        );
        if let Some(lease) = self.lease.as_ref().filter(|_| is_system) {
            lease.doubt();
        }
        is_system
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for MachineExecutor {
    fn shell(&self) -> &ShellInfo {
        self.inner.shell()
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        self.stage.set(ExecutorStage::PREPARE);
        let handle = self.data.get::<ResumeHandle>();
        let lease = match handle.and_then(machine_of) {
            Some(machine) => self.ticket.retake(machine, cancellation).await?,
            None => self.ticket.lease(cancellation).await?,
        };
        lease.start();
        let name = lease.name();
        options.trace.system_line(&format!("Using machine {name}"));
        let mut data = self.data.clone().with(lease.endpoint().clone());
        if let Some(observer) = data.get::<ResumeObserver>().cloned() {
            let machine = name.to_owned();
            data = data.with(ResumeObserver::new(move |handle| {
                observer.notify(&on_machine(handle.clone(), &machine));
            }));
        }
        self.lease = Some(lease);
        self.inner = self.provider.create(&data)?;
        self.stage.follow(self.inner.stage_cell());
        let prepared = self.inner.prepare(options, cancellation).await;
        if let Some(lease) = self.lease.as_ref().filter(|_| prepared.is_ok()) {
            lease.note_answer();
        }
        prepared.inspect_err(|error| {
            if self.doubt_after(error) {
                self.ticket.release();
            }
        })
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let result = self.inner.run(command, cancellation).await;
        result.inspect_err(|error| {
            self.doubt_after(error);
        })
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.inner.finish(outcome).await;
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        let cleaned = self.inner.cleanup().await;
        // A failed cleanup, and one that is cut off, leaves the lease to `drop`.
        if cleaned.is_ok() {
            self.lease = None;
        }
        cleaned
    }

    fn current_stage(&self) -> ExecutorStage {
        self.inner.current_stage()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        self.inner.set_current_stage(stage);
    }

    fn stage_cell(&self) -> StageCell {
        self.stage.clone()
    }

    fn abilities(&self) -> Abilities {
        let inner = self.inner.abilities();
        let resumable = inner.resumable.zip(self.lease.clone());
        Abilities {
            resumable: resumable.map(|(inner, lease)| -> Arc<dyn Resumable> {
                Arc::new(ResumableThere { inner, lease })
            }),
            ..inner
        }
    }
}

/// Identifies an environment on a machine.
#[derive(Debug)]
struct ResumableThere {
    inner: Arc<dyn Resumable>,
    lease: Arc<Lease>,
}

impl Resumable for ResumableThere {
    fn resume_handle(&self) -> Option<ResumeHandle> {
        let handle = self.inner.resume_handle()?;
        Some(on_machine(handle, self.lease.name()))
    }
}

/// Returns the name of the machine on which a job with this handle continues.
pub fn machine_of(handle: &ResumeHandle) -> Option<&str> {
    handle.fields.get(MACHINE).map(String::as_str)
}

fn on_machine(mut handle: ResumeHandle, machine: &str) -> ResumeHandle {
    handle.fields.insert(MACHINE.to_owned(), machine.to_owned());
    handle
}

/// A machine that was not cleaned up is checked before its next job.
impl Drop for MachineExecutor {
    fn drop(&mut self) {
        if let Some(lease) = &self.lease {
            lease.doubt();
        }
    }
}

impl From<TakeError> for BuildError {
    fn from(error: TakeError) -> Self {
        let retry = match &error {
            TakeError::Canceled(cause) => return Self::Canceled(*cause),
            TakeError::Driver(_) => Retryability::Temporary,
            TakeError::TimedOut(_) | TakeError::Closed | TakeError::Gone(_) => {
                Retryability::Permanent
            }
        };
        Self::System {
            backend: NAME,
            message: error.to_string(),
            source: None,
            retry,
        }
    }
}
