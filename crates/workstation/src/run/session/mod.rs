//! Entering a job instead of running it.

mod artifacts;
mod error;
mod job_session;

pub use error::SessionError;
pub use job_session::JobSession;

pub(crate) use artifacts::EarlierArtifacts;
pub(crate) use job_session::begin;
