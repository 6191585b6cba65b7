//! The service: accepts requests, runs their steps, and keeps their logs.
//!
//! The agent starts a [`Service`]. `Run` creates a `request`: `prepare` turns the message into a plan, `steps` runs the
//! plan, `follow` streams the log and the results, and `prune` removes abandoned requests.

mod ask_host;
mod calls;
mod directory;
mod dispatch;
mod environment;
mod error;
mod follow;
mod functions;
mod host_requests;
mod local_service;
mod options;
mod payload;
mod prepare;
mod prune;
mod request;
mod run_process;
mod server;
mod shared;
mod shell;
mod state;
mod status;
mod step_mask;
mod steps;
mod table;
mod upstream;
mod variable_files;
mod variables;

use std::pin::Pin;

use futures_core::Stream;
use tonic::Status;

pub(crate) use dispatch::Dispatch;
pub use error::ServiceError;
pub use local_service::LocalService;
pub use options::{Inherit, ServiceOptions};
pub use server::Service;

/// The response of a streaming call.
pub(crate) type ResponseStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;
