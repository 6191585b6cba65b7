use prometheus::Error;

/// Why metrics cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The registry has metrics of these names already; share the [`Metrics`](crate::Metrics) that
    /// put them there.
    #[error("register the metrics of jobs")]
    Register(#[source] Error),
    /// What the registry holds is no metric Prometheus could read.
    #[error("write the metrics as text")]
    Encode(#[source] Error),
}
