//! Jobs from their first stage to their last.

mod artifacts;
mod bad_input;
mod cache;
mod cancel;
mod early;
mod git;
mod helper;
mod helper_command;
mod inputs;
mod mounted;
mod remote;
mod reports;
mod secrets;
mod shell;
mod snapshot;
mod snapshot_methods;
mod stages;
mod support;
mod timeouts;
mod visitor;
