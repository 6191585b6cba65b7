//! Controlling a running run over a socket in its directory.

mod client;
mod message;
mod server;
mod socket_path;

pub use client::{RunControl, RunControlError};
pub use message::{ControlReply, ControlRequest, JobStanding, PlayVariable, RunStanding};

pub(crate) use server::{ControlHandler, ControlServer};
