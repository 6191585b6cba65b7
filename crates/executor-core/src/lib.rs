//! Executor contract.
pub mod job;
pub mod variable;
