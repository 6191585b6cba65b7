//! Wrappers around any executor provider, one concern each.
//!
//! A layer changes a part of what a provider does and forwards the rest, so any of them fits around
//! any executor, and around another layer. [`ProviderStack`] puts them on from the inside out: the
//! layer added last is asked first. The page of each layer shows an order that works and one that
//! does not.
//!
//! - [`ConcurrencyLimitLayer`]: at most so many jobs at once.
//! - [`FallbackLayer`]: the next provider when one cannot.
//! - [`RetryLayer`]: another try when `prepare` fails.
//! - [`RouteByTagsLayer`]: the provider that fits the tags of a job.
//! - [`TimeoutLayer`]: a deadline for each kind of call.
//! - [`TracingLayer`]: a span around each attempt of a job and each call.
//! - [`MetricsLayer`]: what happens, in numbers for Prometheus.
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
mod held;
mod metrics;
mod owner;
mod rest;
mod retry;
mod room;
mod route_by_tags;
mod several;
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
