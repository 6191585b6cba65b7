//! Tests on a real cluster: `cargo xtask kubernetes -- cargo test -p runwright-executor-kubernetes`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bare;
mod check;
mod conformance;
mod cuts;
mod ends;
mod faults;
mod front;
mod outages;
mod pods;
mod ports;
mod room;
mod support;
mod terminal;
mod user;
