//! Functions from git repositories, fetched by the host's own git.
//!
//! Git has the user's keys and helpers, and nobody is asked anything: what would need an answer fails. What strangers
//! chose, an address or a revision, is never an option, and no hook, filter or submodule of theirs runs.

mod address;
mod checkout;
mod environment;
mod fetch;
mod mirror;
mod noted;
mod program;
mod refs;
mod revision;
mod said;
mod ssh;

pub(crate) use fetch::GitFetcher;
