//! A small executor for processes on this host that keeps the contract, and the faults it can have.

mod executor;
mod fault;
mod process;
mod provider;

pub(crate) use fault::Fault;
pub(crate) use provider::ReferenceProvider;
