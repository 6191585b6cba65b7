//! Projects read with Git, where GitLab's API does not serve this user.
//!
//! Git is the user's own, with the user's keys and helpers, and never prompts: what would need an answer fails. Input from
//! strangers, such as a project, a reference or a path, never becomes an option or another kind of address.

mod library_chain;
mod query;
mod refusal;
mod repository;
mod route;
mod servers;

pub use library_chain::LibraryChain;
pub use route::{GitRoute, GitRoutes};
pub use servers::GitServers;
