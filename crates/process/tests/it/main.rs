//! Tests with real processes.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod capture;
mod contain;
mod crash;
mod groups;
mod mount;
mod run;
mod runner;
mod stop;
mod support;
mod temp;
