use super::collectors::Collectors;
use super::definition::{self, MetricDefinition};
use super::error::MetricsError;
use super::options::MetricsOptions;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Registry, TextEncoder};
use std::sync::Arc;

/// The metrics of all providers wrapped in a [`MetricsLayer`](crate::MetricsLayer).
///
/// Clones share their values. There is no global instance: a program creates one, passes it to its
/// layers, and passes its list of running jobs to its workers.
///
/// # Examples
///
/// ```
/// use executor_core::ActiveJobs;
/// use executor_layers::{Metrics, MetricsOptions};
///
/// let active = ActiveJobs::new();
/// let metrics = Metrics::new(MetricsOptions {
///     active: active.clone(), // and another clone to each `Worker`
///     concurrent: Some(4),
///     ..MetricsOptions::default()
/// })?;
/// assert!(metrics.scrape()?.contains("gitlab_runner_concurrent 4"));
/// # Ok::<(), executor_layers::MetricsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    pub(super) collectors: Arc<Collectors>,
}

impl Metrics {
    /// Creates all metrics and registers them in the registry of the options: all of them, or none.
    ///
    /// # Errors
    ///
    /// [`MetricsError::Register`] when the registry already has metrics of these names.
    pub fn new(options: MetricsOptions) -> Result<Self, MetricsError> {
        let registry = options.registry.clone();
        let collectors = Collectors::new(options).map_err(MetricsError::Register)?;
        let collectors = Arc::new(collectors);
        let shared = Box::new(Shared(Arc::clone(&collectors)));
        registry.register(shared).map_err(MetricsError::Register)?;
        Ok(Self {
            registry,
            collectors,
        })
    }

    /// Returns the registry, for other metrics.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns all metrics of the registry as text for Prometheus (version 0.0.4).
    ///
    /// It may be called from any task at any time: it waits for no job, and no job waits for it.
    ///
    /// # Errors
    ///
    /// [`MetricsError::Encode`] when another metric in the registry cannot be written.
    pub fn scrape(&self) -> Result<String, MetricsError> {
        let families = self.registry.gather();
        let text = TextEncoder::new().encode_to_string(&families);
        text.map_err(MetricsError::Encode)
    }

    /// Returns the definitions of all metrics, in the order of the user guide.
    pub const fn definitions() -> &'static [MetricDefinition] {
        definition::ALL
    }
}

/// The registry's handle to the collectors.
struct Shared(Arc<Collectors>);

impl Collector for Shared {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_exactly_the_defined_metrics() {
        let metrics = Metrics::new(MetricsOptions {
            concurrent: Some(1),
            ..MetricsOptions::default()
        })
        .unwrap();
        let mut registered: Vec<_> = metrics
            .collectors
            .desc()
            .into_iter()
            .map(describe)
            .collect();
        let mut defined: Vec<_> = definition::ALL
            .iter()
            .map(|metric| {
                let labels = metric.labels.iter().map(ToString::to_string);
                (
                    metric.name.to_owned(),
                    labels.collect(),
                    metric.help.to_owned(),
                )
            })
            .collect();
        registered.sort();
        defined.sort();
        assert_eq!(registered, defined);
    }

    fn describe(desc: &Desc) -> (String, Vec<String>, String) {
        (
            desc.fq_name.clone(),
            desc.variable_labels.clone(),
            desc.help.clone(),
        )
    }
}
