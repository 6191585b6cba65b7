//! The metrics and their updates.

use super::definition::{self as define, MetricDefinition};
use super::labels::{BoundedLabel, RunnerLabels, build_stage_label};
use super::options::{MetricsOptions, StageDurations, VersionInfo};
use super::record::Ended;
use super::running_jobs::RunningJobsGauge;
use executor_core::job::JobInfo;
use executor_core::{AcquireError, FailureReason, RunnerConfig, StageReport, StageResult};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    CounterVec, Error, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts,
};
use std::time::Duration;

/// GitLab Runner's buckets for whole jobs.
const JOB_BUCKETS: &[f64] = &[
    30.0, 60.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 10_800.0, 18_000.0, 36_000.0,
];

/// GitLab Runner's buckets for the time in the queue: from a second to an hour.
const QUEUE_BUCKETS: &[f64] = STAGE_BUCKETS;

/// GitLab Runner's buckets for build stages: from a second to an hour.
const STAGE_BUCKETS: &[f64] = &[
    1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 1_800.0, 3_600.0,
];

/// Runwright's buckets for operations of milliseconds to minutes.
const OVERHEAD_BUCKETS: &[f64] = &[0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0];

/// All metrics of one [`Metrics`](super::Metrics), registered as one collector: all or none.
#[derive(Debug)]
pub(super) struct Collectors {
    pub(super) system_id: String,
    stage_durations: StageDurations,
    running: RunningJobsGauge,
    jobs_total: IntCounterVec,
    job_execution_mode_total: IntCounterVec,
    job_duration_seconds: HistogramVec,
    /// Bounded, because a source may send any text.
    project_jobs_running: BoundedLabel,
    job_queue_duration_seconds: HistogramVec,
    job_queue_size: IntGaugeVec,
    job_queue_depth: IntGaugeVec,
    job_stage_duration_seconds: HistogramVec,
    failed_jobs_total: IntCounterVec,
    concurrent: Option<IntGauge>,
    limit: IntGaugeVec,
    version_info: IntGaugeVec,
    acquires_total: IntCounterVec,
    acquire_wait_seconds: HistogramVec,
    stage_seconds: HistogramVec,
    user_code_seconds: CounterVec,
    overhead_seconds: HistogramVec,
    prepare_failures_total: IntCounterVec,
    cleanup_failures_total: IntCounterVec,
    output_bytes_total: IntCounterVec,
    cpu_seconds_total: CounterVec,
    oom_killed_stages_total: IntCounterVec,
}

impl Collectors {
    pub(super) fn new(options: MetricsOptions) -> Result<Self, Error> {
        let concurrent = options.concurrent.map(concurrent).transpose()?;
        Ok(Self {
            running: RunningJobsGauge::new(options.active, options.system_id.clone())?,
            system_id: options.system_id,
            stage_durations: options.stage_durations,
            jobs_total: counter(&define::JOBS_TOTAL)?,
            job_execution_mode_total: counter(&define::JOB_EXECUTION_MODE_TOTAL)?,
            job_duration_seconds: histogram(&define::JOB_DURATION_SECONDS, JOB_BUCKETS)?,
            project_jobs_running: BoundedLabel::default(),
            job_queue_duration_seconds: histogram(
                &define::JOB_QUEUE_DURATION_SECONDS,
                QUEUE_BUCKETS,
            )?,
            job_queue_size: gauge(&define::JOB_QUEUE_SIZE)?,
            job_queue_depth: gauge(&define::JOB_QUEUE_DEPTH)?,
            job_stage_duration_seconds: histogram(
                &define::JOB_STAGE_DURATION_SECONDS,
                STAGE_BUCKETS,
            )?,
            failed_jobs_total: counter(&define::FAILED_JOBS_TOTAL)?,
            concurrent,
            limit: gauge(&define::LIMIT)?,
            version_info: version_info(options.version)?,
            acquires_total: counter(&define::ACQUIRES_TOTAL)?,
            acquire_wait_seconds: histogram(&define::ACQUIRE_WAIT_SECONDS, OVERHEAD_BUCKETS)?,
            stage_seconds: histogram(&define::STAGE_SECONDS, OVERHEAD_BUCKETS)?,
            user_code_seconds: seconds(&define::USER_CODE_SECONDS)?,
            overhead_seconds: histogram(&define::OVERHEAD_SECONDS, OVERHEAD_BUCKETS)?,
            prepare_failures_total: counter(&define::PREPARE_FAILURES_TOTAL)?,
            cleanup_failures_total: counter(&define::CLEANUP_FAILURES_TOTAL)?,
            output_bytes_total: counter(&define::OUTPUT_BYTES_TOTAL)?,
            cpu_seconds_total: seconds(&define::CPU_SECONDS_TOTAL)?,
            oom_killed_stages_total: counter(&define::OOM_KILLED_STAGES_TOTAL)?,
        })
    }

    pub(super) fn labels(&self, config: &RunnerConfig) -> RunnerLabels {
        RunnerLabels::new(config, &self.system_id)
    }

    /// Records the outcome of an `acquire`.
    pub(super) fn acquired<T>(
        &self,
        config: &RunnerConfig,
        result: &Result<T, AcquireError>,
        waited: Duration,
    ) {
        let labels = self.labels(config);
        self.limit
            .with_label_values(&labels.all())
            .set(config.limit.into());
        let outcome = match result {
            Ok(_) => "acquired",
            Err(AcquireError::NoFreeExecutor) => "no_free_executor",
            Err(AcquireError::Canceled(_)) => "canceled",
            Err(_) => "failed",
        };
        self.acquires_total
            .with_label_values(&labels.and(outcome))
            .inc();
        if result.is_ok() {
            self.acquire_wait_seconds
                .with_label_values(&labels.all())
                .observe(waited.as_secs_f64());
        }
    }

    /// Records the queue data in a job's payload; a job without a queue has none.
    pub(super) fn came_from_queue(&self, labels: &RunnerLabels, job: &JobInfo) {
        let jobs_running = job.project_jobs_running_on_instance_runners_count.as_str();
        if jobs_running.is_empty() && job.time_in_queue_seconds <= 0.0 {
            return;
        }
        let jobs_running = self.project_jobs_running.bound(jobs_running);
        self.job_queue_duration_seconds
            .with_label_values(&labels.and(jobs_running))
            .observe(job.time_in_queue_seconds);
        self.job_queue_size
            .with_label_values(&labels.all())
            .set(job.queue_size);
        self.job_queue_depth
            .with_label_values(&labels.all())
            .set(job.queue_depth);
    }

    /// Records the duration of a stage without user code.
    pub(super) fn took(&self, labels: &RunnerLabels, stage: &str, duration: Duration) {
        self.stage_seconds
            .with_label_values(&labels.and(stage))
            .observe(duration.as_secs_f64());
    }

    pub(super) fn prepare_failed(&self, labels: &RunnerLabels, reason: FailureReason) {
        self.prepare_failures_total
            .with_label_values(&labels.and(reason.as_str()))
            .inc();
    }

    pub(super) fn cleanup_failed(&self, labels: &RunnerLabels) {
        self.cleanup_failures_total
            .with_label_values(&labels.all())
            .inc();
    }

    pub(super) fn ran_user_code(&self, labels: &RunnerLabels, duration: Duration) {
        self.user_code_seconds
            .with_label_values(&labels.all())
            .inc_by(duration.as_secs_f64());
    }

    /// Records the resources and output of a script.
    pub(super) fn script_ended(&self, labels: &RunnerLabels, result: &StageResult) {
        for (stream, bytes) in [
            ("stdout", result.stdout_bytes),
            ("stderr", result.stderr_bytes),
        ] {
            self.output_bytes_total
                .with_label_values(&labels.and(stream))
                .inc_by(bytes);
        }
        if let Some(cpu_time) = result.cpu_time {
            self.cpu_seconds_total
                .with_label_values(&labels.all())
                .inc_by(cpu_time.as_secs_f64());
        }
        if result.oom_killed {
            self.oom_killed_stages_total
                .with_label_values(&labels.all())
                .inc();
        }
    }

    /// Records the duration of a stage, including the runner's own part.
    pub(super) fn stage_ended(&self, labels: &RunnerLabels, report: &StageReport) {
        let stage = build_stage_label(&report.stage);
        if !report.stage.is_user_code() {
            self.took(labels, &stage, report.duration);
        }
        if self.stage_durations == StageDurations::Export {
            self.job_stage_duration_seconds
                .with_label_values(&labels.and(&stage))
                .observe(report.duration.as_secs_f64());
        }
    }

    pub(super) fn job_ended(&self, config: &RunnerConfig, job: Ended) {
        let labels = self.labels(config);
        let mode = job.mode.as_str();
        self.jobs_total.with_label_values(&labels.all()).inc();
        self.job_execution_mode_total
            .with_label_values(&[mode, &config.executor])
            .inc();
        self.job_duration_seconds
            .with_label_values(&labels.and(mode))
            .observe(job.duration.as_secs_f64());
        self.overhead_seconds
            .with_label_values(&labels.all())
            .observe(job.overhead.as_secs_f64());
        if let Some(reason) = job.failure {
            let [runner, name, _] = labels.all();
            self.failed_jobs_total
                .with_label_values(&[runner, name, reason.as_str(), mode])
                .inc();
        }
    }

    fn each(&self) -> impl Iterator<Item = &dyn Collector> {
        let always: [&dyn Collector; 21] = [
            &self.running,
            &self.jobs_total,
            &self.job_execution_mode_total,
            &self.job_duration_seconds,
            &self.job_queue_duration_seconds,
            &self.job_queue_size,
            &self.job_queue_depth,
            &self.job_stage_duration_seconds,
            &self.failed_jobs_total,
            &self.limit,
            &self.version_info,
            &self.acquires_total,
            &self.acquire_wait_seconds,
            &self.stage_seconds,
            &self.user_code_seconds,
            &self.overhead_seconds,
            &self.prepare_failures_total,
            &self.cleanup_failures_total,
            &self.output_bytes_total,
            &self.cpu_seconds_total,
            &self.oom_killed_stages_total,
        ];
        let concurrent = self.concurrent.iter();
        let concurrent = concurrent.map(|gauge| gauge as &dyn Collector);
        always.into_iter().chain(concurrent)
    }
}

impl Collector for Collectors {
    fn desc(&self) -> Vec<&Desc> {
        self.each().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.each().flat_map(Collector::collect).collect()
    }
}

fn opts(definition: &MetricDefinition) -> Opts {
    Opts::new(definition.name, definition.help)
}

fn counter(definition: &MetricDefinition) -> Result<IntCounterVec, Error> {
    IntCounterVec::new(opts(definition), definition.labels)
}

fn seconds(definition: &MetricDefinition) -> Result<CounterVec, Error> {
    CounterVec::new(opts(definition), definition.labels)
}

fn gauge(definition: &MetricDefinition) -> Result<IntGaugeVec, Error> {
    IntGaugeVec::new(opts(definition), definition.labels)
}

fn histogram(definition: &MetricDefinition, buckets: &[f64]) -> Result<HistogramVec, Error> {
    let opts = HistogramOpts::from(opts(definition)).buckets(buckets.to_vec());
    HistogramVec::new(opts, definition.labels)
}

fn concurrent(jobs: u32) -> Result<IntGauge, Error> {
    let gauge = IntGauge::with_opts(opts(&define::CONCURRENT))?;
    gauge.set(jobs.into());
    Ok(gauge)
}

fn version_info(version: Option<VersionInfo>) -> Result<IntGaugeVec, Error> {
    let gauge = gauge(&define::VERSION_INFO)?;
    if let Some(version) = version {
        let labels = [
            version.name.as_str(),
            &version.version,
            &version.revision,
            &version.branch,
            &version.built_at,
            std::env::consts::OS,
            std::env::consts::ARCH,
        ];
        gauge.with_label_values(&labels).set(1);
    }
    Ok(gauge)
}
