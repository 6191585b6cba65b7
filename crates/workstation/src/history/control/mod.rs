//! Telling a living run what to do, over a socket in its directory.

mod client;
mod message;
mod place;
mod server;

pub use client::{RunControl, RunControlError};
pub use message::{ControlReply, ControlRequest, JobStanding, PlayVariable, RunStanding};

pub(crate) use server::{ControlServer, Obedience};
