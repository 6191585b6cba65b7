use super::collectors::Collectors;
use super::handle::Metrics;
use super::labels::{RunnerLabels, stage_label};
use super::stage_clock::StageClock;
use crate::config::RunnerSettings;
use crate::pace::Polled;
use executor_core::job::JobInfo;
use executor_core::{BuildStage, JobOutcome, RunnerConfig, TurnOutcome};
use prometheus::IntGauge;
use std::time::Duration;

/// The metrics of one runner, for the places where its events happen. Clones share their values.
#[derive(Debug, Clone)]
pub(crate) struct RunnerMetrics {
    metrics: Metrics,
    labels: RunnerLabels,
    executor: String,
}

/// A call of the server. GitLab Runner counts the first four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    RequestJob,
    UpdateJob,
    PatchTrace,
    ResetToken,
    Register,
    Verify,
    Unregister,
}

impl Endpoint {
    /// Returns the labels `endpoint` and `method`.
    const fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::RequestJob => ("request_job", "post"),
            Self::UpdateJob => ("update_job", "put"),
            Self::PatchTrace => ("patch_trace", "patch"),
            Self::ResetToken => ("reset_token", "post"),
            Self::Register => ("register", "post"),
            Self::Verify => ("verify", "post"),
            Self::Unregister => ("unregister", "delete"),
        }
    }
}

/// The value of `failure_type` for a job that did not succeed.
const JOB_FAILURE: &str = "job_failure";
/// The same for a runner whose executor is full.
const NO_FREE_EXECUTOR: &str = "no_free_executor";
/// The same for any other failure of a turn.
const OTHER: &str = "other";

impl RunnerMetrics {
    pub(super) fn new(metrics: Metrics, config: &RunnerConfig, system_id: &str) -> Self {
        Self {
            metrics,
            labels: RunnerLabels::new(config, system_id),
            executor: config.executor.clone(),
        }
    }

    /// Returns the metrics of the process.
    pub(crate) fn process(&self) -> &Metrics {
        &self.metrics
    }

    fn all(&self) -> &Collectors {
        &self.metrics.collectors
    }

    /// Shows the runner with its settings.
    pub(crate) fn begin(&self, settings: &RunnerSettings) {
        let (all, labels) = (self.all(), &self.labels);
        all.running.add_runner(labels);
        let limit = all.limit.with_label_values(&labels.all());
        limit.set(settings.config.limit.into());
        let requests = i64::try_from(settings.request_concurrency).unwrap_or(i64::MAX);
        all.request_concurrency_hard_limit
            .with_label_values(&labels.without_name())
            .set(requests);
        self.most_polls(1);
        self.polls(0);
        // Counters are shown before their first event, so that an increase from 0 is seen.
        all.request_concurrency_exceeded_total
            .with_label_values(&labels.without_name());
        for counter in [
            &all.jobs_total,
            &all.worker_feeds_total,
            &all.worker_feed_failures_total,
            &all.worker_health_check_failures_total,
        ] {
            counter.with_label_values(&labels.all());
        }
        for failure in [JOB_FAILURE, NO_FREE_EXECUTOR, OTHER] {
            all.worker_processing_failures_total
                .with_label_values(&self.with_failure(failure));
        }
        all.trace_bytes_total.with_label_values(&[labels.runner()]);
        all.outbox_jobs.with_label_values(&[labels.runner()]);
    }

    /// Removes the gauges of a runner that the settings do not have any more. Its counters remain, as Prometheus expects.
    pub(crate) fn end(&self) {
        let (all, labels) = (self.all(), &self.labels);
        all.running.remove_runner(labels);
        // A gauge that was never set cannot be removed.
        for gauge in [&all.limit, &all.job_queue_size, &all.job_queue_depth] {
            let _ = gauge.remove_label_values(&labels.all());
        }
        for gauge in [
            &all.request_concurrency,
            &all.request_concurrency_hard_limit,
            &all.request_concurrency_used_limit,
        ] {
            let _ = gauge.remove_label_values(&labels.without_name());
        }
    }

    /// Notes the number of polls that wait for an answer.
    pub(crate) fn polls(&self, number: usize) {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let labels = self.labels.without_name();
        let gauge = &self.all().request_concurrency;
        gauge.with_label_values(&labels).set(number);
    }

    /// Sets how many polls may be open.
    pub(crate) fn most_polls(&self, number: usize) {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let labels = self.labels.without_name();
        let gauge = &self.all().request_concurrency_used_limit;
        gauge.with_label_values(&labels).set(number);
    }

    /// Counts the begin of a turn.
    pub(crate) fn turn_began(&self) {
        let counter = &self.all().worker_feeds_total;
        counter.with_label_values(&self.labels.all()).inc();
    }

    /// Counts the end of a turn; `None` for one that failed.
    pub(crate) fn turn_ended(&self, outcome: Option<TurnOutcome>) {
        match outcome {
            Some(TurnOutcome::NoCapacity) => self.turn_failed(NO_FREE_EXECUTOR),
            None => self.turn_failed(OTHER),
            Some(TurnOutcome::RanJob | TurnOutcome::NoJob | TurnOutcome::Closed) => {}
        }
    }

    fn turn_failed(&self, failure: &str) {
        let counter = &self.all().worker_processing_failures_total;
        counter.with_label_values(&self.with_failure(failure)).inc();
    }

    fn with_failure<'l>(&'l self, failure: &'l str) -> [&'l str; 4] {
        let [runner, name, system_id] = self.labels.all();
        [failure, runner, name, system_id]
    }

    /// Counts the result of a poll. `is_resting` is true when the runner pauses for longer than usual.
    pub(crate) fn polled(&self, polled: Polled, is_resting: bool) {
        let labels = self.labels.all();
        if matches!(polled, Polled::Forbidden | Polled::Failed(_)) {
            let failures = &self.all().worker_health_check_failures_total;
            failures.with_label_values(&labels).inc();
        }
        if is_resting {
            let failures = &self.all().worker_feed_failures_total;
            failures.with_label_values(&labels).inc();
        }
    }

    /// Counts a call of the server; the status is `None` if there was no answer.
    pub(crate) fn called(&self, endpoint: Endpoint, status: Option<u16>, took: Duration) {
        let (endpoint, method) = endpoint.labels();
        let [runner, system_id] = self.labels.without_name();
        let class = match status {
            Some(status @ 100..=599) => &format!("{}xx", status / 100),
            _ => "unknown",
        };
        let status = status.map_or_else(|| "error".to_owned(), |status| status.to_string());
        let labels = [runner, system_id, endpoint, &status, method];
        let statuses = &self.all().api_request_statuses_total;
        statuses.with_label_values(&labels).inc();
        let labels = [runner, system_id, endpoint, class, method];
        let durations = &self.all().api_request_duration_seconds;
        durations
            .with_label_values(&labels)
            .observe(took.as_secs_f64());
    }

    /// Counts bytes of a log that the server accepted.
    pub(crate) fn trace_sent(&self, bytes: u64) {
        let counter = &self.all().trace_bytes_total;
        counter
            .with_label_values(&[self.labels.runner()])
            .inc_by(bytes);
    }

    /// Counts an ended job as undelivered until the returned value is dropped.
    pub(crate) fn undelivered(&self) -> Undelivered {
        let gauge = &self.all().outbox_jobs;
        let gauge = gauge.with_label_values(&[self.labels.runner()]);
        gauge.inc();
        Undelivered(gauge)
    }

    /// Counts an accepted job, with the server's data about its queue.
    pub(crate) fn job_started(&self, job: &JobInfo) {
        let (all, labels) = (self.all(), self.labels.all());
        all.jobs_total.with_label_values(&labels).inc();
        let running = job.project_jobs_running_on_instance_runners_count.as_str();
        let running = all.project_jobs_running.bound(running);
        all.job_queue_duration_seconds
            .with_label_values(&self.labels.and(running))
            .observe(job.time_in_queue_seconds.max(0.0));
        let size = all.job_queue_size.with_label_values(&labels);
        size.set(job.queue_size);
        let depth = all.job_queue_depth.with_label_values(&labels);
        depth.set(job.queue_depth);
    }

    /// Records the end of a job that took this long since it was accepted.
    pub(crate) fn job_finished(&self, outcome: &JobOutcome, clock: &StageClock, took: Duration) {
        let all = self.all();
        let mut stages = outcome.stages.iter();
        let mode = if stages.any(|report| report.stage == BuildStage::StepRun) {
            "steps"
        } else {
            "script"
        };
        all.job_execution_mode_total
            .with_label_values(&[mode, &self.executor])
            .inc();
        all.job_duration_seconds
            .with_label_values(&self.labels.and(mode))
            .observe(took.as_secs_f64());
        if let Some(reason) = outcome.failure_reason() {
            let [runner, name, _] = self.labels.all();
            all.failed_jobs_total
                .with_label_values(&[runner, name, reason.as_str(), mode])
                .inc();
            self.turn_failed(JOB_FAILURE);
        }
        for report in &outcome.stages {
            let stage = report.stage.name();
            let stage = stage_label(&stage);
            all.job_stage_duration_seconds
                .with_label_values(&self.labels.and(stage))
                .observe(report.duration.as_secs_f64());
            if !report.stage.is_user_code() {
                self.overhead(stage, report.duration);
            }
        }
        if let Some(prepare) = clock.prepare() {
            self.overhead("prepare_executor", prepare);
        }
        if let Some(cleanup) = clock.since_last_stage() {
            self.overhead("cleanup_executor", cleanup);
        }
    }

    fn overhead(&self, stage: &str, took: Duration) {
        let histogram = &self.all().job_overhead_seconds;
        let labels = [self.labels.runner(), stage];
        histogram
            .with_label_values(&labels)
            .observe(took.as_secs_f64());
    }
}

/// An ended job whose end the server does not have yet.
#[derive(Debug)]
pub(crate) struct Undelivered(IntGauge);

impl Drop for Undelivered {
    fn drop(&mut self) {
        self.0.dec();
    }
}
