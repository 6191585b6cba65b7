//! Projects asked by Git, where GitLab's API does not answer whoever asks.
//!
//! Git is the user's own, with his keys and helpers, and nobody is asked anything: what would need an
//! answer fails. What strangers chose, a project, a reference, a path, is never an option and never
//! another kind of address.

mod asked;
mod environment;
mod fallback;
mod names;
mod process;
mod refs;
mod repository;
mod said;
mod servers;
mod ssh;
mod way;

pub use fallback::Fallback;
pub use servers::GitServers;
pub use way::{GitWay, GitWays};
