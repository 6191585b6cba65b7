//! The tests of the step-runner service and its client.

mod agent;
mod client;
mod golden;
mod service;
mod wire;
