//! Entering a job, instead of running it.

mod artifacts;
mod error;
mod job_session;
mod planning;

pub use error::SessionError;
pub use job_session::JobSession;

pub(crate) use artifacts::Found;
pub(crate) use planning::begin;
