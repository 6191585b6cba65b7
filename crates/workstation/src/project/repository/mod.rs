//! The project's repository, for rules and includes.
//!
//! # Changed files
//!
//! A pipeline of GitLab runs for a pushed commit; a local one runs for the working tree. So the changed files are those that a
//! push would change if everything were committed now:
//!
//! | the pipeline runs for | the changed files |
//! |---|---|
//! | a branch that the server has | from where the server's branch was last seen to the working tree |
//! | the same, without a difference | unknown: there is nothing to push, and the last push is not known |
//! | a branch that the server does not have, a tag, a schedule, ... | unknown, as on GitLab |
//! | a merge request | from where it left the target branch to the working tree |
//!
//! With unknown changes every `changes` matches. The working tree includes uncommitted changes and new files that are not
//! ignored, because jobs get them. A rename is two changes, since GitLab compares paths on both sides.
//!
//! The last known commit of the server's branch is `refs/remotes/REMOTE/BRANCH`, which each push and each fetch sets; nothing
//! is fetched here. A branch that follows one of another name is new on the server, since it is pushed under its own name.
//!
//! # Cost
//!
//! Git starts on the first request, and every result is kept: a pipeline without `changes`, `exists` and wildcards starts no
//! git for them.

mod blocking_git;
mod changes;
mod git_repository;

pub(crate) use blocking_git::{BlockingGit, BlockingGitError};
pub(crate) use changes::{ChangeBase, NEW_FILES, diff, is_of_local_tool};
pub use git_repository::GitRepository;
pub(crate) use git_repository::{Situated, merge_base, verified};
