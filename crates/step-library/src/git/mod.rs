//! Functions from git repositories, fetched by the host's own git.
//!
//! Git has the user's keys and helpers, and never prompts: what would need an answer fails. Input from strangers, an address
//! or a revision, never becomes an option, and no hook, filter or submodule of theirs runs.

mod address;
mod checkout;
mod fetch;
mod mirror;
mod refusal;
mod repository_git;
mod revision;

pub(crate) use fetch::GitFetcher;
