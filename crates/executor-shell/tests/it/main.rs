//! Tests of the shell executor with real shells.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod cancel;
mod cleanup;
mod conformance;
mod failures;
mod login;
mod prepare;
mod provider;
mod run;
#[cfg(feature = "functions")]
mod steps;
mod support;
mod terminal;
mod variables;
#[cfg(not(feature = "functions"))]
mod without_functions;
