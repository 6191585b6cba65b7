//! Runs jobs in containers, through the API of Docker Engine.
//!
//! `docs/design/docker.md` tells the shapes and why.

pub mod engine;
pub mod error;
pub mod image;

pub mod labels;
pub mod names;

pub use engine::{DockerHost, Engine};
pub use error::DockerError;
