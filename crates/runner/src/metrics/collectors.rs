//! The metrics as Prometheus's types.

use super::definition::{self as define, MetricDefinition, MetricKind};
use super::labels::BoundedLabel;
use super::running_jobs::RunningJobs;
use prometheus::core::Collector;
use prometheus::{Error, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

/// All metrics, registered.
#[derive(Debug)]
pub(super) struct Collectors {
    pub(super) running: RunningJobs,
    pub(super) jobs_total: IntCounterVec,
    pub(super) job_execution_mode_total: IntCounterVec,
    pub(super) job_duration_seconds: HistogramVec,
    pub(super) job_stage_duration_seconds: HistogramVec,
    pub(super) failed_jobs_total: IntCounterVec,
    pub(super) job_queue_duration_seconds: HistogramVec,
    /// Bounded, because a server may send any text.
    pub(super) project_jobs_running: BoundedLabel,
    pub(super) job_queue_size: IntGaugeVec,
    pub(super) job_queue_depth: IntGaugeVec,
    pub(super) concurrent: IntGaugeVec,
    pub(super) limit: IntGaugeVec,
    pub(super) request_concurrency: IntGaugeVec,
    pub(super) request_concurrency_hard_limit: IntGaugeVec,
    pub(super) request_concurrency_used_limit: IntGaugeVec,
    pub(super) request_concurrency_exceeded_total: IntCounterVec,
    pub(super) api_request_statuses_total: IntCounterVec,
    pub(super) api_request_duration_seconds: HistogramVec,
    pub(super) worker_feeds_total: IntCounterVec,
    pub(super) worker_feed_failures_total: IntCounterVec,
    pub(super) worker_slots_number: IntGaugeVec,
    pub(super) worker_slot_operations_total: IntCounterVec,
    pub(super) worker_processing_failures_total: IntCounterVec,
    pub(super) worker_health_check_failures_total: IntCounterVec,
    pub(super) configuration_loaded_total: IntCounterVec,
    pub(super) configuration_loading_error_total: IntCounterVec,
    pub(super) configuration_saved_total: IntCounterVec,
    pub(super) configuration_saving_error_total: IntCounterVec,
    pub(super) errors_total: IntCounterVec,
    pub(super) process_state_info: IntGaugeVec,
    pub(super) version_info: IntGaugeVec,
    pub(super) job_overhead_seconds: HistogramVec,
    pub(super) outbox_jobs: IntGaugeVec,
    pub(super) trace_bytes_total: IntCounterVec,
}

impl Collectors {
    /// Registers all metrics.
    pub(super) fn new(registry: &Registry, system_id: String) -> Result<Self, Error> {
        let register = Register(registry);
        let running = RunningJobs::new(system_id)?;
        Ok(Self {
            running: register.add(running)?,
            jobs_total: register.counter(&define::JOBS_TOTAL)?,
            job_execution_mode_total: register.counter(&define::JOB_EXECUTION_MODE_TOTAL)?,
            job_duration_seconds: register.histogram(&define::JOB_DURATION_SECONDS)?,
            job_stage_duration_seconds: register.histogram(&define::JOB_STAGE_DURATION_SECONDS)?,
            failed_jobs_total: register.counter(&define::FAILED_JOBS_TOTAL)?,
            job_queue_duration_seconds: register.histogram(&define::JOB_QUEUE_DURATION_SECONDS)?,
            project_jobs_running: BoundedLabel::default(),
            job_queue_size: register.gauge(&define::JOB_QUEUE_SIZE)?,
            job_queue_depth: register.gauge(&define::JOB_QUEUE_DEPTH)?,
            concurrent: register.gauge(&define::CONCURRENT)?,
            limit: register.gauge(&define::LIMIT)?,
            request_concurrency: register.gauge(&define::REQUEST_CONCURRENCY)?,
            request_concurrency_hard_limit: register
                .gauge(&define::REQUEST_CONCURRENCY_HARD_LIMIT)?,
            request_concurrency_used_limit: register
                .gauge(&define::REQUEST_CONCURRENCY_USED_LIMIT)?,
            request_concurrency_exceeded_total: register
                .counter(&define::REQUEST_CONCURRENCY_EXCEEDED_TOTAL)?,
            api_request_statuses_total: register.counter(&define::API_REQUEST_STATUSES_TOTAL)?,
            api_request_duration_seconds: register
                .histogram(&define::API_REQUEST_DURATION_SECONDS)?,
            worker_feeds_total: register.counter(&define::WORKER_FEEDS_TOTAL)?,
            worker_feed_failures_total: register.counter(&define::WORKER_FEED_FAILURES_TOTAL)?,
            worker_slots_number: register.gauge(&define::WORKER_SLOTS_NUMBER)?,
            worker_slot_operations_total: register
                .counter(&define::WORKER_SLOT_OPERATIONS_TOTAL)?,
            worker_processing_failures_total: register
                .counter(&define::WORKER_PROCESSING_FAILURES_TOTAL)?,
            worker_health_check_failures_total: register
                .counter(&define::WORKER_HEALTH_CHECK_FAILURES_TOTAL)?,
            configuration_loaded_total: register.counter(&define::CONFIGURATION_LOADED_TOTAL)?,
            configuration_loading_error_total: register
                .counter(&define::CONFIGURATION_LOADING_ERROR_TOTAL)?,
            configuration_saved_total: register.counter(&define::CONFIGURATION_SAVED_TOTAL)?,
            configuration_saving_error_total: register
                .counter(&define::CONFIGURATION_SAVING_ERROR_TOTAL)?,
            errors_total: register.counter(&define::ERRORS_TOTAL)?,
            process_state_info: register.gauge(&define::PROCESS_STATE_INFO)?,
            version_info: register.gauge(&define::VERSION_INFO)?,
            job_overhead_seconds: register.histogram(&define::JOB_OVERHEAD_SECONDS)?,
            outbox_jobs: register.gauge(&define::OUTBOX_JOBS)?,
            trace_bytes_total: register.counter(&define::TRACE_BYTES_TOTAL)?,
        })
    }
}

/// Creates metrics in a registry.
struct Register<'r>(&'r Registry);

impl Register<'_> {
    fn add<C: Collector + Clone + 'static>(&self, collector: C) -> Result<C, Error> {
        self.0.register(Box::new(collector.clone()))?;
        Ok(collector)
    }

    fn counter(&self, definition: &MetricDefinition) -> Result<IntCounterVec, Error> {
        self.add(IntCounterVec::new(opts(definition), definition.labels)?)
    }

    fn gauge(&self, definition: &MetricDefinition) -> Result<IntGaugeVec, Error> {
        self.add(IntGaugeVec::new(opts(definition), definition.labels)?)
    }

    fn histogram(&self, definition: &MetricDefinition) -> Result<HistogramVec, Error> {
        let mut options = HistogramOpts::from(opts(definition));
        if let MetricKind::Histogram(buckets) = definition.kind {
            options.buckets = buckets.to_vec();
        }
        self.add(HistogramVec::new(options, definition.labels)?)
    }
}

fn opts(definition: &MetricDefinition) -> Opts {
    Opts::new(definition.name, definition.help)
}
