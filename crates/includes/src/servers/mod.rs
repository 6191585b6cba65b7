//! The servers themselves: GitLab's API for what is in projects, any address for pages.

mod library;
mod page;
mod project;
mod refusal;

pub use library::Servers;
