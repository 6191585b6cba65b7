//! What the crate promises, tested from outside.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, too"
)]

mod bad_input;
mod codes;
mod compose;
mod create;
mod driver;
mod fake;
mod forward;
mod include;
mod keywords;
mod large;
mod machine;
mod merged;
mod output;
mod parity;
mod plan;
mod random;
mod random_expressions;
mod reports;
mod resolve;
mod rules;
mod spans;
mod structure;
mod vectors;
mod when;
