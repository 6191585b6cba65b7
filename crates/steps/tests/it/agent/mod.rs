//! The real program, as a process.

mod bootstrap;
mod command;
mod proxy;
mod python;
mod serve;
mod support;
