//! The container of a job, from its creation to its removal.

pub(crate) mod agent_place;
pub(crate) mod attached;
pub(crate) mod begin;
pub(crate) mod exec_stream;
pub(crate) mod execs;
pub(crate) mod fault;
pub(crate) mod job_container;
pub(crate) mod ready;
pub(crate) mod watch;

pub(crate) use job_container::{JobContainer, ended, remove};
