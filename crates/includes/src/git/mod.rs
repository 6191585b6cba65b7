//! Projects asked by Git, where GitLab's API does not answer whoever asks.

mod fallback;
mod way;

pub use fallback::Fallback;
pub use way::{GitWay, GitWays};
