//! The real program as a process.

mod bootstrap;
mod command;
mod container;
mod docker;
mod expansion;
mod proxy;
mod python;
mod remote_functions;
mod serve;
mod stop;
pub(crate) mod support;
