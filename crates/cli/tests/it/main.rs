//! The binary as a person uses it: real repositories, real shells, real signals.

mod bad_input;
mod events;
mod fault;
mod list;
mod own_pipeline;
mod project;
mod run;
mod signals;
