//! Runs jobs in containers, through the API of Docker Engine.
//!
//! `docs/design/docker.md` tells the shapes and why.
//!
//! [`provider()`] makes the provider from [`DockerOptions`]; its executors are [`DockerExecutor`]s.

pub mod config;
pub mod create;
pub mod engine;
pub mod error;
pub mod garbage;
pub mod image;
pub mod labels;
pub mod names;
pub mod network;
pub mod policy;
pub mod recovery;
pub mod service;
pub mod volume;

mod adopt;
mod assemble;
mod chown;
mod container;
mod created_resources;
mod creation;
mod executor;
mod host;
mod options;
mod pending_request;
mod planned;
mod prepare;
mod provider;
mod resources;
mod resume;
mod run;
mod session;
mod stage_transport;
mod started_container;
mod terminal;
mod warm;
mod workspace;

pub use engine::{DockerHost, Engine};
pub use error::DockerError;
pub use executor::DockerExecutor;
pub use options::DockerOptions;
pub use provider::{DockerProvider, NAME, provider};
