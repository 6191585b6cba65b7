use super::collectors::Collectors;
use super::runner_metrics::RunnerMetrics;
use crate::process_state::ProcessState;
use executor_core::{ActiveJobs, RunnerConfig};
use prometheus::{Error, Registry, TextEncoder};
use std::sync::Arc;
use tracing::Level;

/// The options of [`Metrics`].
#[derive(Debug, Clone, Default)]
pub struct MetricsOptions {
    /// The registry for the metrics, which may have those of executors. Default: a new one.
    pub registry: Registry,
    /// The identity of this machine, see [`system_id`](crate::system_id()).
    pub system_id: String,
    /// The version of the program.
    pub version: String,
    /// Its commit.
    pub revision: String,
}

/// The metrics of a runner. Clones share their values.
///
/// The user guide has the list of all metrics, see [`metric_table_markdown`](crate::metric_table_markdown). The program reports what
/// only it knows: reads of the settings and lines of its own log.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    system_id: String,
    pub(super) collectors: Arc<Collectors>,
}

impl Metrics {
    /// Creates all metrics and registers them.
    ///
    /// # Errors
    ///
    /// When the registry has metrics of these names already.
    pub fn new(options: MetricsOptions) -> Result<Self, Error> {
        let MetricsOptions {
            registry,
            system_id,
            version,
            revision,
        } = options;
        let collectors = Collectors::new(&registry, system_id.clone())?;
        let labels = [
            "runwright",
            &version,
            &revision,
            "",
            "",
            "",
            std::env::consts::OS,
            std::env::consts::ARCH,
        ];
        collectors.version_info.with_label_values(&labels).set(1);
        collectors.show_zeros();
        let metrics = Self {
            registry,
            system_id,
            collectors: Arc::new(collectors),
        };
        metrics.state(ProcessState::default());
        Ok(metrics)
    }

    /// Returns the registry, for other metrics.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns all metrics of the registry as text for Prometheus (version 0.0.4).
    ///
    /// # Errors
    ///
    /// When another metric in the registry cannot be written.
    pub fn scrape(&self) -> Result<String, Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// Counts a successful read of the settings.
    pub fn configuration_loaded(&self) {
        increment(&self.collectors.configuration_loaded_total);
    }

    /// Counts settings that cannot be used.
    pub fn configuration_not_loaded(&self) {
        increment(&self.collectors.configuration_loading_error_total);
    }

    /// Counts a write of the settings, such as of a new token.
    pub fn configuration_saved(&self) {
        increment(&self.collectors.configuration_saved_total);
    }

    /// Counts settings that cannot be written.
    pub fn configuration_not_saved(&self) {
        increment(&self.collectors.configuration_saving_error_total);
    }

    /// Counts a line of the program's log, if it is a warning or an error.
    pub fn logged(&self, level: Level) {
        let level = match level {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => return,
        };
        self.collectors
            .errors_total
            .with_label_values(&[level])
            .inc();
    }

    /// Returns the list of running jobs.
    pub(crate) fn active(&self) -> &ActiveJobs {
        self.collectors.running.active()
    }

    /// Returns the metrics of one runner.
    pub(crate) fn of(&self, config: &RunnerConfig) -> RunnerMetrics {
        RunnerMetrics::new(self.clone(), config, &self.system_id)
    }

    /// Notes the state of the process.
    pub(crate) fn state(&self, state: ProcessState) {
        let gauge = &self.collectors.process_state_info;
        gauge.with_label_values(&[state.as_str()]).set(1);
        for other in ProcessState::ALL.into_iter().filter(|it| *it != state) {
            // It was never set, or is removed.
            let _ = gauge.remove_label_values(&[other.as_str()]);
        }
    }

    /// Notes the number of jobs that may run at a time.
    pub(crate) fn slots(&self, before: usize, now: usize) {
        let Collectors {
            concurrent,
            worker_slots_number,
            worker_slot_operations_total,
            ..
        } = &*self.collectors;
        for gauge in [concurrent, worker_slots_number] {
            let now = i64::try_from(now).unwrap_or(i64::MAX);
            gauge.with_label_values(NONE).set(now);
        }
        let changes = [
            ("started", now.saturating_sub(before)),
            ("stopped", before.saturating_sub(now)),
        ];
        for (operation, number) in changes {
            let counter = worker_slot_operations_total.with_label_values(&[operation]);
            counter.inc_by(number as u64);
        }
    }
}

/// The labels of a metric without any.
const NONE: &[&str] = &[];

fn increment(counter: &prometheus::IntCounterVec) {
    counter.with_label_values(NONE).inc();
}

impl Collectors {
    /// Shows counters before their first event, so that an increase from 0 is seen.
    fn show_zeros(&self) {
        for counter in [
            &self.configuration_loaded_total,
            &self.configuration_loading_error_total,
            &self.configuration_saved_total,
            &self.configuration_saving_error_total,
        ] {
            counter.with_label_values(NONE);
        }
        for level in ["warning", "error"] {
            self.errors_total.with_label_values(&[level]);
        }
    }
}
