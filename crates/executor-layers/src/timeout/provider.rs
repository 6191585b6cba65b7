use crate::forward::forward_provider;
use crate::timeout::bounded::{Bound, Ended, bounded};
use crate::timeout::{TimeoutExecutor, TimeoutLayer};
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, Executor, ExecutorData, ExecutorProvider,
    HumanDuration, ProviderError, RunnerConfig,
};
use std::sync::Arc;
use std::time::Duration;

/// A provider wrapped in a [`TimeoutLayer`].
#[derive(Debug)]
pub struct TimeoutProvider {
    pub(super) inner: Arc<dyn ExecutorProvider>,
    pub(super) layer: TimeoutLayer,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for TimeoutProvider {
    forward_provider!(inner: can_create);

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let executor = self.inner.create(data)?;
        Ok(Box::new(TimeoutExecutor::new(executor, self.layer.clone())))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let Some(limit) = self.layer.acquire else {
            return self.inner.acquire(config, cancellation).await;
        };
        let stop = cancellation.child();
        let bound = Bound {
            limit,
            grace: Duration::ZERO,
            patience: self.layer.patience,
        };
        let acquire = self.inner.acquire(config, &stop);
        match bounded(acquire, &stop, bound).await {
            Ended::Stopped(Err(AcquireError::Canceled(_))) => {
                tracing::debug!(runner = %config.name, limit = %HumanDuration(limit), "No capacity in time.");
                Err(AcquireError::NoFreeExecutor)
            }
            Ended::ByItself(acquired) | Ended::Stopped(acquired) => acquired,
            Ended::Dropped => {
                tracing::error!(runner = %config.name, "The provider does not stop; its `acquire` is abandoned.");
                Err(match cancellation.cause() {
                    Some(cause) => AcquireError::Canceled(cause),
                    None => AcquireError::Provider(Box::new(BuildError::Timeout {
                        phase: "acquire",
                        limit,
                    })),
                })
            }
        }
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.inner.release(config, data).await;
    }

    forward_provider!(inner: features, config_info, default_shell, init);

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        let Some(limit) = self.layer.shutdown else {
            return self.inner.shutdown(deadline).await;
        };
        let deadline = deadline.min(limit);
        let shutdown = self.inner.shutdown(deadline);
        let ended =
            tokio::time::timeout(deadline.saturating_add(self.layer.patience), shutdown).await;
        ended.unwrap_or_else(|_| {
            Err(ProviderError::new(format!(
                "the provider did not shut down within {}",
                HumanDuration(deadline)
            )))
        })
    }
}
