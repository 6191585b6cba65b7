//! The project's repository as rules and includes ask about it.
//!
//! # What changed
//!
//! A pipeline of GitLab runs for a commit that was pushed; a local one runs for the working tree.
//! So the question is which files a push would change, were everything committed now:
//!
//! | the pipeline runs for | the changed files |
//! |---|---|
//! | a branch that the server has | from where the server's branch was last seen to the working tree |
//! | the same, and nothing is different | unknown: this is no push, and the last one is not known |
//! | a branch that the server does not have, a tag, a schedule, ... | unknown, as on GitLab |
//! | a merge request | from where it left the target branch to the working tree |
//!
//! Unknown changes let every `changes` hold. The working tree counts with what is not committed and
//! with new files that are not ignored, because that is what jobs get. Renames count as two
//! changes: GitLab compares paths on both sides.
//!
//! Where the server's branch was last seen is `refs/remotes/REMOTE/BRANCH`, which each push and each
//! fetch sets; nothing is fetched for a question. A branch that follows one of another name is new
//! on the server: what counts is the branch it will be pushed to.
//!
//! # Cost
//!
//! Nothing is asked beforehand, and every answer is kept: a pipeline without `changes`, `exists` and
//! wildcards starts no git for them.

mod answers;
mod blocking_git;
mod changes;
mod git_repository;

pub(crate) use blocking_git::{BlockingGit, BlockingGitError};
pub(crate) use changes::ChangeBase;
pub use git_repository::GitRepository;
pub(crate) use git_repository::{Situated, merge_base, verified};
