//! Entering a job, instead of running it.

mod artifacts;
mod error;
mod job_session;
mod planning;

pub use error::SessionError;
pub use job_session::JobSession;

pub(super) use artifacts::Found;
pub(super) use planning::begin;
