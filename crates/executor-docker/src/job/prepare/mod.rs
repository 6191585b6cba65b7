//! The preparation of a job: its container, and everything that the container needs.

pub(crate) mod adopt;
pub(crate) mod assemble;
pub(crate) mod creation;
pub(crate) mod preparation;
mod resources;
pub(crate) mod start;
pub(crate) mod started_container;
