//! Jobs from their first stage to their last.

mod support;

mod artifacts;
mod bad_input;
mod cache;
mod early;
mod elsewhere;
mod git;
mod handover;
mod life;
mod means;
mod mounted;
mod reports;
mod shell;
mod snapshot;
mod stopping;
mod time;
mod visits;
