//! Jobs from their first stage to their last.

mod support;

mod artifacts;
mod bad_input;
mod git;
mod life;
mod local_copy;
mod repository;
mod shell;
mod stopping;
mod time;
