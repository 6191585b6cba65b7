//! Containers that are ready before a job wants them, each used once.
//!
//! `docs/design/docker.md` tells what is of the job and what is of the container.

mod blueprint;
mod held_paths;
mod inventory;
mod kind;
mod pool;
mod relay;
mod removal;
mod spare;

pub(crate) use blueprint::Blueprint;
pub(crate) use pool::Pool;
pub(crate) use removal::BackgroundRemoval;
