//! The stages of a job, run in its container.

pub(crate) mod agent;
pub(crate) mod attach;
pub(crate) mod connector;
pub(crate) mod exec;
pub(crate) mod exec_files;
pub(crate) mod helper;
pub(crate) mod mark;
pub(crate) mod output;
mod runner;
pub(crate) mod signal;
mod stage_run;
pub(crate) mod status;
pub(crate) mod transport;

pub(crate) use runner::StageRunner;
pub(crate) use stage_run::{Stage, Timing};
