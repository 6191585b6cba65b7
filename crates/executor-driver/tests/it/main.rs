//! Tests of the driver executor with drivers in Python.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod capacity;
mod conformance;
mod failures;
mod files;
mod log;
mod protocol;
mod reconnect;
mod support;
