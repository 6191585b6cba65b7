//! How the sources are fetched: settings, the remote, and the plan that both a script and a native
//! run follow.
//!
//! [`GitSettings`] are read from a job's variables, [`Remote`] from its repository URL. Together
//! with `git_info` they become a [`GitPlan`]: a list of steps, each a git command as an argument
//! vector or one of three small file operations. A script in a container and the job runner itself
//! perform the same steps.
//!
//! The plan defends against files that an earlier job left in a reused tree (hooks, configuration,
//! locks, a `.git` that refers to another directory), names that look like options, URLs that run
//! commands, and secrets on disk or on a command line.

mod address;
mod error;
mod flags;
mod plan;
mod planner;
mod remote;
mod settings;
mod step;

pub use address::secrets_in;
pub use error::{GitFlagSource, PlanError};
pub use plan::GitPlan;
pub use remote::{LocalSubmodules, PASSWORD_VARIABLE, Remote, RemoteError, USERNAME_VARIABLE};
pub use settings::{GitDefaults, GitSettings, GitSettingsWarning, GitStrategy, LfsMode};
pub use settings::{SubmoduleSettings, SubmoduleStrategy};
pub use step::{Condition, GIT_DIR_LEFTOVERS, GitAction, GitCommand, GitStep, OnFailure};
