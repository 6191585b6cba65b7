//! Which GitLabs the user has, and who he is there.
//!
//! # Which GitLab is the project's
//!
//! The first of these that says something:
//!
//! 1. the option `--gitlab`, then the variable `RUNWRIGHT_GITLAB`;
//! 2. the repository's remote (`gcl-origin`, then `origin`), with what the settings and `glab` know
//!    of its host: another address for the web, a path, plain `http`;
//! 3. `url` of `[gitlab]` in the settings;
//! 4. `GITLAB_HOST`, `GITLAB_URI`, `GL_HOST`, and `CI_SERVER_URL` in a job.
//!
//! So a variable that was set for another project takes no project away from the server it was
//! cloned from.
//!
//! # Which token is a GitLab's
//!
//! The first there is: that of the settings, of the environment, of `glab`, of netrc. A token is for
//! one server, which is a scheme, a host and a port, and goes nowhere else. A variable like
//! `GITLAB_TOKEN` names no server: it is for the one of `GITLAB_HOST`, and without that for the
//! project's own, unless nothing but the remote of the checkout says that it is: whoever made the checkout
//! may be a stranger who wants the token.

mod environment;
mod glab;
mod known;
mod netrc;
mod private_file;
mod remote;
mod search;
mod sources;
#[cfg(test)]
mod tests;
mod tokens;
mod user_accounts;
mod value;
mod variables;
mod ways;

pub(crate) use private_file::is_private;
pub(crate) use remote::may_be_gitlab;
pub use user_accounts::{UserAccounts, UserConfig};
pub use variables::Variables;
