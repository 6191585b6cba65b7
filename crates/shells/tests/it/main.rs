//! Scripts under real shells, real git, and as text.

mod checkout;
mod command_line;
mod environment;
mod helper;
mod hostile;
mod native;
mod quoting;
mod repository;
mod signals;
mod snapshot;
mod sources;
mod submodules;
mod support;
mod user_stage;
