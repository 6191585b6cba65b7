//! Tests against a real OpenSSH server.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changes;
mod conformance;
mod faults;
mod login;
mod residue;
mod resume;
mod stages;
mod support;
