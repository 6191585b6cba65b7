//! Tests of the custom executor with real drivers.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod conformance;
mod driver;
mod exits;
mod faults;
mod replay;
mod scripts;
