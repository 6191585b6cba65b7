use prometheus::Error;

/// The error of registering or writing metrics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The registry already has metrics of these names; share the [`Metrics`](crate::Metrics) that
    /// registered them.
    #[error("register the metrics of jobs")]
    Register(#[source] Error),
    /// The registry has a metric that cannot be written for Prometheus.
    #[error("write the metrics as text")]
    Encode(#[source] Error),
}
