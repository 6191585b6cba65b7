//! The servers themselves: GitLab's API for what is in projects, any address for pages.

mod page;
mod project;
mod refusal;
mod servers;

pub use servers::Servers;
