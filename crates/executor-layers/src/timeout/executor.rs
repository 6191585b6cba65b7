use crate::forward::forward_executor;
use crate::timeout::TimeoutLayer;
use crate::timeout::bounded::{Bound, Ended, bounded};
use async_trait::async_trait;
use executor_core::{
    BuildError, Cancellation, Executor, JobOutcome, PrepareOptions, PreparedEnvironment,
    Retryability, StageCommand, StageResult,
};
use std::borrow::Cow;
use std::time::Duration;

/// An executor whose calls have deadlines.
#[derive(Debug)]
pub struct TimeoutExecutor {
    inner: Box<dyn Executor>,
    layer: TimeoutLayer,
    /// The time for a cancelled stage to end, from the runner's settings.
    grace: Duration,
    /// Whether a call was dropped halfway, which leaves the environment in an unknown state.
    is_lost: bool,
}

impl TimeoutExecutor {
    pub(super) fn new(inner: Box<dyn Executor>, layer: TimeoutLayer) -> Self {
        Self {
            inner,
            layer,
            grace: Duration::ZERO,
            is_lost: false,
        }
    }

    /// Converts the end of a call to its result.
    fn result<T>(
        &mut self,
        ended: Ended<Result<T, BuildError>>,
        phase: &'static str,
        limit: Duration,
        cancellation: &Cancellation,
    ) -> Result<T, BuildError> {
        match ended {
            Ended::Stopped(Err(BuildError::Canceled(_))) => {
                Err(BuildError::Timeout { phase, limit })
            }
            Ended::ByItself(result) | Ended::Stopped(result) => result,
            Ended::Dropped => {
                tracing::error!(%phase, "The executor does not stop; its call is abandoned.");
                self.is_lost = true;
                Err(match cancellation.cause() {
                    Some(cause) => BuildError::Canceled(cause),
                    None => BuildError::Timeout { phase, limit },
                })
            }
        }
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for TimeoutExecutor {
    forward_executor!(inner: shell);

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let config = &options.config;
        let graceful = config.graceful_kill_timeout;
        self.grace = graceful.saturating_add(config.force_kill_timeout);
        let Some(limit) = self.layer.prepare else {
            return self.inner.prepare(options, cancellation).await;
        };
        let stop = cancellation.child();
        let bound = Bound {
            limit,
            grace: Duration::ZERO,
            patience: self.layer.patience,
        };
        let ended = bounded(self.inner.prepare(options, &stop), &stop, bound).await;
        self.result(ended, "prepare", limit, cancellation)
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        if self.is_lost {
            return Err(lost());
        }
        let Some(limit) = self.layer.run else {
            return self.inner.run(command, cancellation).await;
        };
        let phase = match command.stage.name() {
            Cow::Borrowed(name) => name,
            Cow::Owned(_) => "step",
        };
        let stop = cancellation.child();
        let bound = Bound {
            limit,
            grace: self.grace,
            patience: self.layer.patience,
        };
        let ended = bounded(self.inner.run(command, &stop), &stop, bound).await;
        self.result(ended, phase, limit, cancellation)
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.inner.finish(outcome).await;
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        let Some(limit) = self.layer.cleanup else {
            return self.inner.cleanup().await;
        };
        let cleanup = tokio::time::timeout(limit, self.inner.cleanup());
        cleanup.await.unwrap_or(Err(BuildError::Timeout {
            phase: "cleanup",
            limit,
        }))
    }

    forward_executor!(inner: current_stage, set_current_stage, stage_cell, abilities);
}

fn lost() -> BuildError {
    BuildError::System {
        backend: "timeout",
        message: "an earlier call was abandoned halfway".to_owned(),
        source: None,
        retry: Retryability::Permanent,
    }
}
