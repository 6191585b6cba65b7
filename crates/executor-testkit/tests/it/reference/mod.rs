//! A small honest executor for processes on this host, and the ways it can be broken.

mod executor;
mod fault;
mod process;
mod provider;

pub(crate) use fault::Fault;
pub(crate) use provider::ReferenceProvider;
