//! A provider behind a layer that counts.

use executor_core::StageReport;
use executor_core::job::JobInfo;
use executor_core::prelude::*;
use executor_layers::{Metrics, MetricsLayer, MetricsOptions};
use executor_testkit::{
    CommandBuilder, JobBuilder, OptionsBuilder, ScriptedProvider, runner_config,
};
use std::time::Duration;

pub(super) const RUNNER: &str = r#"runner="abcdefghi",runner_name="testkit",system_id="s_1""#;

pub(super) struct Bench {
    pub(super) scripted: ScriptedProvider,
    pub(super) provider: Arc<dyn ExecutorProvider>,
    pub(super) metrics: Metrics,
    pub(super) config: RunnerConfig,
    /// What the payloads of jobs say of them.
    pub(super) info: JobInfo,
}

impl Bench {
    pub(super) fn new(options: MetricsOptions) -> Self {
        let scripted = ScriptedProvider::new();
        let metrics = Metrics::new(MetricsOptions {
            system_id: "s_1".to_owned(),
            ..options
        })
        .unwrap();
        let mut config = runner_config("scripted");
        config.token = "glrt-abcdefghijkl".into();
        Self {
            provider: MetricsLayer::new(&metrics).layer(scripted.shared()),
            scripted,
            metrics,
            config,
            info: JobInfo::default(),
        }
    }

    pub(super) async fn acquire(&self) -> Result<ExecutorData, AcquireError> {
        self.provider
            .acquire(&self.config, &Cancellation::new())
            .await
    }

    /// Runs one attempt: an executor, its stages, and how the job ended.
    pub(super) async fn attempt(
        &self,
        data: &ExecutorData,
        stages: &[BuildStage],
        outcome: &JobOutcome,
    ) {
        let go_on = Cancellation::new();
        let mut executor = self.provider.create(data).unwrap();
        let job = JobBuilder::new(1).with(|job| job.job_info = self.info.clone());
        let options = OptionsBuilder::new()
            .config(self.config.clone())
            .job(job.build())
            .build();
        if executor.prepare(options, &go_on).await.is_ok() {
            for stage in stages {
                let command = CommandBuilder::new("").stage(stage.clone()).build();
                // Who runs the job judges the result; the layer only counts.
                let _ = executor.run(command, &go_on).await;
            }
            executor.finish(outcome).await;
        }
        let _ = executor.cleanup().await;
    }

    /// Runs one job of one attempt.
    pub(super) async fn job(&self, stages: &[BuildStage], outcome: &JobOutcome) {
        let data = self.acquire().await.unwrap();
        self.attempt(&data, stages, outcome).await;
        self.provider.release(&self.config, data).await;
    }

    pub(super) fn scrape(&self) -> String {
        self.metrics.scrape().unwrap()
    }

    /// Returns what follows this series' name and labels; `None` when there is no such series.
    pub(super) fn value(&self, series: &str) -> Option<f64> {
        let text = self.scrape();
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
    }

    #[track_caller]
    pub(super) fn expect(&self, series: &str, value: f64) {
        let found = self.value(series);
        assert!(
            found.is_some_and(|found| (found - value).abs() < 1e-9),
            "{series} is {found:?}, not {value}, in\n{}",
            self.scrape()
        );
    }
}

pub(super) fn report(stage: BuildStage, seconds: u64) -> StageReport {
    StageReport {
        stage,
        succeeded: true,
        duration: Duration::from_secs(seconds),
        result: None,
    }
}

/// Labels are written in the order of the alphabet.
pub(super) const RUNNER_BEFORE_STAGE: &str = r#"runner="abcdefghi",runner_name="testkit""#;
