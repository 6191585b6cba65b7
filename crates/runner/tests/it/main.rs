//! The runner against a GitLab for tests.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod bench;
mod cached_jobs;
mod config;
mod foreign_server;
mod jobs;
mod metrics;
mod object_cache;
mod ports;
mod providers;
mod recordings;
mod s3;
mod secret_server;
mod secrets;
mod soak;
mod spans;
mod terminals;
