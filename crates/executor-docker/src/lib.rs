//! Runs jobs in containers, through the API of Docker Engine.
//!
//! `docs/design/docker.md` tells the shapes and why.

pub mod labels;
pub mod names;
