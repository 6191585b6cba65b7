use super::executor::MetricsExecutor;
use super::handle::Metrics;
use super::record::JobRecord;
use crate::forward::forward_provider;
use crate::owner::Owner;
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, Executor, ExecutorData, ExecutorProvider,
    ProviderError, ProviderLayer, RunnerConfig,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Counts and times the calls of a provider and its executors.
///
/// # What it changes
///
/// Nothing: every call is forwarded unchanged, and its result is recorded in the [`Metrics`]. A job
/// lasts from `acquire` to `release`, with any number of executors for its attempts. It is counted at
/// `release`, with the outcome of the last `finish` or else of the last failed `prepare`. The list of
/// all metrics is in the user guide and in [`Metrics::definitions`].
///
/// A job that fails before its first executor is created is not counted, and neither is the time before
/// that.
///
/// # Labels
///
/// `runner`, `runner_name` and `executor` have as many values as there are runners. `stage` has one
/// value for all steps that a job names itself (`step_other`), and `executor_stage` has 64 values and
/// `other`. A job therefore cannot add label values without limit.
///
/// # Examples
///
/// Right: outside of all layers that refuse, wait or retry, so that the metrics show the worker's view.
/// Wrong: inside. Refused calls never reach the layer, and a full machine looks idle. Also wrong: one
/// [`Metrics`] in two layers of one stack, which counts each call twice; in two stacks it counts both
/// together.
///
/// ```
/// use executor_core::{Cancellation, ExecutorProvider, ProviderStack};
/// use executor_layers::{ConcurrencyLimitLayer, Metrics, MetricsLayer, MetricsOptions};
/// use executor_testkit::{ScriptedProvider, runner_config};
///
/// /// Acquires capacity until there is none.
/// async fn fill(provider: &dyn ExecutorProvider) {
///     let (config, go_on) = (runner_config("scripted"), Cancellation::new());
///     let mut held = Vec::new();
///     while let Ok(data) = provider.acquire(&config, &go_on).await {
///         held.push(data);
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), executor_layers::MetricsError> {
/// let limit = ConcurrencyLimitLayer::concurrent(1);
/// let metrics = Metrics::new(MetricsOptions::default())?;
/// let right = ProviderStack::new(ScriptedProvider::new())
///     .layer(&limit)
///     .layer(&MetricsLayer::new(&metrics))
///     .build();
/// fill(&*right).await;
/// assert!(metrics.scrape()?.contains(r#"outcome="no_free_executor""#));
///
/// let metrics = Metrics::new(MetricsOptions::default())?;
/// let wrong = ProviderStack::new(ScriptedProvider::new())
///     .layer(&MetricsLayer::new(&metrics))
///     .layer(&limit)
///     .build();
/// fill(&*wrong).await;
/// assert!(!metrics.scrape()?.contains(r#"outcome="no_free_executor""#));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MetricsLayer {
    metrics: Metrics,
}

impl MetricsLayer {
    /// Returns a layer that records in `metrics`.
    pub fn new(metrics: &Metrics) -> Self {
        Self {
            metrics: metrics.clone(),
        }
    }
}

impl ProviderLayer for MetricsLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(MetricsProvider {
            inner,
            metrics: self.metrics.clone(),
            owner: Owner::default(),
        })
    }
}

/// A provider wrapped in a [`MetricsLayer`].
#[derive(Debug)]
pub struct MetricsProvider {
    inner: Arc<dyn ExecutorProvider>,
    metrics: Metrics,
    owner: Owner,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for MetricsProvider {
    forward_provider!(inner: can_create);

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let record = self.owner.find::<Arc<JobRecord>>(data);
        // Without acquired capacity there is no job to count, but the executor works as usual.
        let record = record.cloned().unwrap_or_default();
        record.began();
        let created = self.inner.create(data);
        if let Err(error) = &created {
            record.failed_to_prepare(error.failure_reason());
        }
        let collectors = Arc::clone(&self.metrics.collectors);
        Ok(Box::new(MetricsExecutor::new(created?, collectors, record)))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let start = Instant::now();
        let acquired = self.inner.acquire(config, cancellation).await;
        self.metrics
            .collectors
            .acquired(config, &acquired, start.elapsed());
        let record = Arc::<JobRecord>::default();
        acquired.map(|data| self.owner.put(data, record))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let record = self.owner.find::<Arc<JobRecord>>(&data);
        if let Some(job) = record.and_then(|record| record.end()) {
            self.metrics.collectors.job_ended(config, job);
        }
        self.inner.release(config, data).await;
    }

    forward_provider!(inner: features, config_info, default_shell, init);

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}
