//! The tests of the step-runner service and its client.

#![expect(
    clippy::unwrap_used,
    reason = "what the tests share may panic as the tests do"
)]

mod agent;
mod client;
mod golden;
mod service;
mod together;
mod wire;
