//! The tests of the step-runner service and its client.

mod agent;
mod service;
mod wire;
