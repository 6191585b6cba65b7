//! Layers around executor providers, one concern each.
//!
//! A layer changes a part of a provider's behaviour and forwards the rest, so it can wrap any provider
//! and any other layer. [`ProviderStack`] applies layers from the inside out: the layer added last is
//! called first. The documentation of each layer shows an order that works and one that does not.
//!
//! - [`ConcurrencyLimitLayer`]: a limit on concurrent jobs.
//! - [`FallbackLayer`]: the next provider when one is busy or fails.
//! - [`RetryLayer`]: another attempt when `prepare` fails.
//! - [`RouteByTagsLayer`]: a provider chosen by the tags of a job.
//! - [`TimeoutLayer`]: a deadline for each kind of call.
//! - [`TracingLayer`]: a span around each attempt of a job and each call.
//! - [`MetricsLayer`]: counts and durations for Prometheus.
//!
//! # Examples
//!
//! ```
//! use executor_core::prelude::*;
//! use executor_layers::{ConcurrencyLimitLayer, WhenFull};
//!
//! let provider = DefaultExecutorProvider::new(ShellDialect::platform_default())
//!     .with_creator(|_data| Err(BuildError::config("put an executor here")));
//! let stack = ProviderStack::new(provider)
//!     .layer(&ConcurrencyLimitLayer::of_each_runner())
//!     .layer(&ConcurrencyLimitLayer::concurrent(4).when_full(WhenFull::Wait))
//!     .build();
//! assert!(stack.can_create().is_ok());
//! ```
//!
//! [`ProviderStack`]: executor_core::ProviderStack

mod concurrency_limit;
mod fallback;
mod forward;
mod metrics;
mod owner;
mod permits;
mod provider_set;
mod reservations;
mod retry;
mod route_by_tags;
mod timeout;
mod tracing;

pub use concurrency_limit::{ConcurrencyLimitLayer, ConcurrencyLimitProvider, WhenFull};
pub use fallback::{FallbackExecutor, FallbackLayer, FallbackProvider};
pub use metrics::{
    MetricDefinition, MetricKind, Metrics, MetricsError, MetricsExecutor, MetricsLayer,
    MetricsOptions, MetricsProvider, StageDurations, VersionInfo,
};
pub use retry::{RetryExecutor, RetryLayer, RetryProvider};
pub use route_by_tags::{RouteByTagsExecutor, RouteByTagsLayer, RouteByTagsProvider};
pub use timeout::{TimeoutExecutor, TimeoutLayer, TimeoutProvider};
// A crate has this name too.
pub use self::tracing::{TracingExecutor, TracingLayer, TracingProvider};
