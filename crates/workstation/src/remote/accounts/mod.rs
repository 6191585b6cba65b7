//! The user's GitLabs and accounts.
//!
//! # The project's GitLab
//!
//! The first of these that is set:
//!
//! 1. the option `--gitlab`, then the variable `RUNWRIGHT_GITLAB`;
//! 2. the repository's remote (`gcl-origin`, then `origin`), with what the settings and `glab` know
//!    of its host: another address for the web, a path, plain `http`;
//! 3. `url` of `[gitlab]` in the settings;
//! 4. `GITLAB_HOST`, `GITLAB_URI`, `GL_HOST`, and `CI_SERVER_URL` in a job.
//!
//! So a variable that was set for another project does not change the server that a project was cloned from.
//!
//! # The token of a GitLab
//!
//! The first found in the settings, the process environment, `glab` and netrc. A token is for one server (scheme, host
//! and port), and sent to no other. A variable like `GITLAB_TOKEN` names no server: it is for that of `GITLAB_HOST`, or
//! else for the project's own, unless only the remote names that one: a stranger may have made the checkout to get the
//! token.

mod git_routes;
mod glab;
mod instances;
mod netrc;
mod private_file;
mod process_env;
mod remote;
#[cfg(test)]
mod tests;
mod token_files;
mod token_search;
mod token_text;
mod tokens;
mod user_accounts;
mod variables;

pub(crate) use private_file::is_private;
pub(crate) use remote::may_be_gitlab;
pub use user_accounts::{UserAccounts, UserConfig};
pub use variables::Variables;
