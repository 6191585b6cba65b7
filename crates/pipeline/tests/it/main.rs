//! The behaviour of the crate, tested through its public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, too"
)]

mod bad_input;
mod codes;
mod compose;
mod create;
mod forward;
mod include;
mod keywords;
mod merged;
mod parity;
mod plan;
mod plans;
mod random_expressions;
mod resolve;
mod rules;
mod spans;
mod structure;
mod vectors;
