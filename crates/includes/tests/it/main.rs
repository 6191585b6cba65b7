//! Tests of the libraries: servers, stored answers, and the lock file.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod program;
mod questions;
mod scripted;

mod answers;
mod cached;
mod fail_points;
mod finding;
mod git;
mod locked;
mod properties;
mod servers;
mod store;
mod store_shared;
mod vendored;
