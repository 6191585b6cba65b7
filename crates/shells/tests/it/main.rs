//! Scripts under real shells, real git, and as text.

mod command_line;
mod environment;
mod native;
mod quoting;
mod repository;
mod signals;
mod snapshot;
mod sources;
mod support;
mod user_stage;
