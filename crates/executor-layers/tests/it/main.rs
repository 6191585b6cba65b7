//! Layers, each on its own and stacked around real and scripted executors.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod concurrency_limit;
mod fallback;
mod job_runner;
mod metrics;
mod panics;
mod retry;
mod route_by_tags;
mod stacks;
mod support;
mod timeout;
mod tracing;
