//! The state machine on its own, and the driver with a scripted runner.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, too"
)]

mod driver;
mod fake;
mod large;
mod machine;
mod output;
mod random;
mod reports;
mod when;
