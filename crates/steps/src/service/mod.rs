//! The service: takes requests, runs their steps, keeps their logs.
//!
//! [`Service`] is what the agent starts. A `request` is what `Run` makes; the rest is its life: `prepare` turns a message
//! into a plan, `steps` runs the plan, `follow` tells others, `prune` forgets.

mod answer;
mod api;
mod course;
mod directory;
mod dispatch;
mod environment;
mod error;
mod follow;
mod functions;
mod local_service;
mod log_output;
mod options;
mod payload;
mod prepare;
mod prune;
mod request;
mod server;
mod shell;
mod step_mask;
mod steps;
mod table;
mod tasks;
mod upstream;
mod variable_files;
mod variables;
mod wishes;

use std::pin::Pin;

use futures_core::Stream;
use tonic::Status;

pub(crate) use dispatch::Dispatch;
pub use error::ServiceError;
pub use local_service::LocalService;
pub use options::{Inherit, ServiceOptions};
pub use server::Service;

/// What a call that streams answers with.
pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;
