//! Warm containers: prepared before a job needs them, each used once.
//!
//! `docs/design/docker.md` separates the properties of the job from those of the container.

mod blueprint;
mod inventory;
mod kind;
mod pool;
mod relay;
mod removal;
mod spare;

pub(crate) use blueprint::Blueprint;
pub(crate) use pool::Pool;
pub(crate) use removal::BackgroundRemoval;
