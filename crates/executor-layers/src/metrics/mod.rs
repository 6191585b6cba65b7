//! Metrics of providers, executors and jobs for Prometheus.

mod collectors;
mod definition;
mod error;
mod executor;
mod handle;
mod labels;
mod layer;
mod options;
mod record;
mod running_jobs;

pub use definition::{MetricDefinition, MetricKind};
pub use error::MetricsError;
pub use executor::MetricsExecutor;
pub use handle::Metrics;
pub use layer::{MetricsLayer, MetricsProvider};
pub use options::{MetricsOptions, StageDurations, VersionInfo};
