//! Metrics for Prometheus, with the names, labels and buckets of GitLab Runner.
//!
//! [`Metrics`] belongs to a process and [`RunnerMetrics`] to one `[[runners]]`. The places where something happens call one method
//! of these; Prometheus's types are known here only.
//!
//! GitLab Runner's other metrics belong to parts that this runner does not have, or whose data it does not have:
//!
//! | metric of GitLab Runner | reason |
//! |---|---|
//! | `acceptable_job_queuing_duration_exceeded_total` | `[[runners.monitoring.job_queuing_durations]]` has no effect |
//! | `api_request_retries_total` | a retry is a call of its own in `api_request_statuses_total` |
//! | `request_concurrency_adaptive_limit` | it is `request_concurrency_used_limit`, before rounding |
//! | `job_inputs_interpolations_total`, `job_inputs_interpolation_failures_total` | inputs are not counted |
//! | `job_router_*` | there is no job router |
//! | `cache_s3_assume_role_*` | caches are on this host |
//! | `autoscaling_*` | `executor-machine` has them, in the same registry |
//! | `kubernetes_autoscaler_*`, `fleeting_*`, `taskscaler_*` | these autoscalers do not exist here |
//! | `go_*`, `process_*` | they describe Go's runtime |

mod collectors;
mod definition;
mod handle;
mod labels;
mod markdown;
mod runner_metrics;
mod running_jobs;
mod stage_clock;

pub use handle::{Metrics, MetricsOptions};
pub use markdown::metric_table_markdown;
pub(crate) use runner_metrics::{Endpoint, RunnerMetrics};
pub(crate) use stage_clock::StageClock;
