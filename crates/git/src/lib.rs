//! Runs the user's git, and reads repositories of this machine without it.
//!
//! ```
//! use git::{Git, GitProcesses};
//! use process::NeverStop;
//! use std::path::Path;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let processes = GitProcesses::start(None)?;
//! let git = Git::local(processes.tree(), Path::new("."));
//! let version = git.output(&["version"], &NeverStop).await?;
//! assert!(version.starts_with(b"git version"));
//! processes.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`Git`] is the one way in which the program starts git for its own questions. Each call has a deadline, a limit
//! for its output, and a typed [`GitError`]; everything git started is gone when the call returns. There are two kinds:
//!
//! | | [`Git::local`] | [`Git::remote`] |
//! |---|---|---|
//! | for | repositories of this machine, read | repositories of a server, fetched into a cache |
//! | repository's hooks, file monitor | off: a job may have left them there | off |
//! | repository's filters and remotes | off | of the cache |
//! | environment | the program's, without variables that point at another repository | [`RemoteEnvironment`]: no prompts, chosen protocols |
//! | deadline | 60 s | given by the caller |
//!
//! Git that prints into a job's log follows a `shells::git::GitPlan` and belongs to `job-runner`.
//!
//! # Untrusted input
//!
//! A name from a repository or a server must not become an option: it stands behind `--` or `--end-of-options`, or begins
//! with `refs/`. [`is_commit`], [`is_reference_name`] and [`is_file_path`] check names before they get there.
//!
//! # Without git
//!
//! [`inspect`] describes a repository for predefined variables and starts git once; [`glance`], [`RepositoryRefs`],
//! [`ref_state`] and [`GitDir`] read its files and start nothing.

mod bare_repository;
mod environment;
mod error;
mod foreign_filters;
mod git;
mod git_dir;
mod git_processes;
mod inspect;
mod loose_commit;
mod names;
mod ref_state;
mod refs;
mod remote_failure;
mod remote_refs;
mod repository_refs;

pub use bare_repository::{directory_name, fetched_ref, has_fetched, remove_leftovers};
pub use environment::{Protocols, RemoteEnvironment};
pub use error::GitError;
pub use git::{Git, UNTRUSTED_REPO_FLAGS, local_environment, paths_in};
pub use git_dir::{GitDir, common_dir, toplevel};
pub use git_processes::GitProcesses;
pub use inspect::{Commit, Head, RepositoryError, RepositoryFacts, glance, inspect, origin};
pub use names::{
    is_abbreviated_commit, is_commit, is_file_path, is_reference_name, without_credentials,
};
pub use ref_state::ref_state;
pub use refs::{HeadRef, head, resolve};
pub use remote_failure::{RemoteFailure, essential_line};
pub use remote_refs::RemoteRefs;
pub use repository_refs::RepositoryRefs;
