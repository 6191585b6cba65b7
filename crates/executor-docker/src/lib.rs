//! Runs jobs in containers, through the API of Docker Engine.
//!
//! The design and its reasons are in `docs/design/docker.md`.
//!
//! [`provider()`] creates the provider from [`DockerOptions`]; its executors are [`DockerExecutor`]s.

pub mod config;
pub mod engine;
pub mod error;
pub mod garbage;
pub mod image;
pub mod job;
pub mod network;
pub mod service;
pub mod volume;

mod executor;
mod provider;
mod warm;

pub use config::{DockerOptions, NAME};
pub use engine::{DockerHost, Engine};
pub use error::DockerError;
pub use executor::DockerExecutor;
pub use provider::{DockerProvider, provider};
#[doc(no_inline)]
pub use steps::agent::{Agent, AgentError, find as find_agent};
