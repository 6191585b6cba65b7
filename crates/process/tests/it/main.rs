//! Tests with real processes.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod contain;
mod run;
mod stop;
mod support;
