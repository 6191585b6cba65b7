//! The real program, as a process.

mod bootstrap;
mod command;
mod serve;
mod support;
