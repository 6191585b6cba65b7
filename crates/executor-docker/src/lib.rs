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
mod container;
mod creation;
mod doubt;
mod executor;
mod host;
mod made;
mod options;
mod own;
mod planned;
mod prepare;
mod provider;
mod readied;
mod resources;
mod resume;
mod run;
mod session;
mod tactic;
mod terminal;
mod warm;
mod workspace;

pub use engine::{DockerHost, Engine};
pub use error::DockerError;
pub use executor::DockerExecutor;
pub use options::DockerOptions;
pub use provider::{DockerProvider, NAME, provider};
