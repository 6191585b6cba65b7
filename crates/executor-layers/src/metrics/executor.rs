use super::collectors::Collectors;
use super::labels::RunnerLabels;
use super::record::JobRecord;
use crate::forward::forward_executor;
use async_trait::async_trait;
use executor_core::{
    BuildError, Cancellation, Executor, JobOutcome, PrepareOptions, PreparedEnvironment,
    StageCommand, StageResult,
};
use std::sync::Arc;
use tokio::time::Instant;

/// An executor of a [`MetricsProvider`](crate::MetricsProvider).
#[derive(Debug)]
pub struct MetricsExecutor {
    inner: Box<dyn Executor>,
    collectors: Arc<Collectors>,
    record: Arc<JobRecord>,
    /// The runner's labels, known from `prepare` on; nothing is recorded before.
    labels: Option<RunnerLabels>,
}

impl MetricsExecutor {
    pub(super) fn new(
        inner: Box<dyn Executor>,
        collectors: Arc<Collectors>,
        record: Arc<JobRecord>,
    ) -> Self {
        Self {
            inner,
            collectors,
            record,
            labels: None,
        }
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for MetricsExecutor {
    forward_executor!(inner: shell);

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let labels = self.labels.insert(self.collectors.labels(&options.config));
        if self.record.is_new() {
            self.collectors
                .came_from_queue(labels, &options.job.job_info);
        }
        let start = Instant::now();
        let prepared = self.inner.prepare(options, cancellation).await;
        self.collectors
            .took(labels, "prepare_executor", start.elapsed());
        if let Err(error) = &prepared {
            let reason = error.failure_reason();
            self.collectors.prepare_failed(labels, reason);
            self.record.failed_to_prepare(reason);
        }
        prepared
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let stage = command.stage.clone();
        let start = Instant::now();
        let result = self.inner.run(command, cancellation).await;
        let duration = start.elapsed();
        self.record.ran(&stage, duration);
        if let Some(labels) = &self.labels {
            if stage.is_user_code() {
                self.collectors.ran_user_code(labels, duration);
            }
            if let Ok(result) = &result {
                self.collectors.script_ended(labels, result);
            }
        }
        result
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.record.finished(outcome);
        let start = Instant::now();
        self.inner.finish(outcome).await;
        if let Some(labels) = &self.labels {
            self.collectors.took(labels, "finish", start.elapsed());
            for report in &outcome.stages {
                self.collectors.stage_ended(labels, report);
            }
        }
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        let start = Instant::now();
        let cleaned = self.inner.cleanup().await;
        self.record.cleaned_up();
        if let Some(labels) = &self.labels {
            self.collectors.took(labels, "cleanup", start.elapsed());
            if cleaned.is_err() {
                self.collectors.cleanup_failed(labels);
            }
        }
        cleaned
    }

    forward_executor!(inner: current_stage, set_current_stage, stage_cell, abilities);
}
