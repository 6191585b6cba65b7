//! Runs jobs in containers, through the API of Docker Engine.
//!
//! `docs/design/docker.md` tells the shapes and why.

pub mod config;
pub mod create;
pub mod engine;
pub mod error;
pub mod image;
pub mod labels;
pub mod names;
pub mod network;
pub mod policy;
pub mod service;
pub mod volume;

pub use engine::{DockerHost, Engine};
pub use error::DockerError;
