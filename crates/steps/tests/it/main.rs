//! The tests of the step-runner service and its client.

#![expect(clippy::unwrap_used, reason = "shared test code may panic like a test")]

mod agent;
mod client;
mod golden;
mod service;
mod together;
mod wire;
