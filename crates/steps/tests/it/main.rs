//! The tests of the step-runner service and its client.

mod service;
mod wire;
