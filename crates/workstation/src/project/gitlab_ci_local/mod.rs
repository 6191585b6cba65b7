//! What users of gitlab-ci-local have in their projects and homes, read as it is.
//!
//! | file | what is done with it |
//! |---|---|
//! | `.gitlab-ci-local.yml` | a second pipeline file, merged over the first |
//! | `.gitlab-ci-local-variables.yml` | variables of the project |
//! | `.gitlab-ci-local-env` | options: those of the pipeline are taken, others are named with ours |
//! | `~/.gitlab-ci-local/variables.yml` | the user's variables for all projects, groups, one project |
//! | `~/.gitlab-ci-local/.env` | options, below those of the project |
//!
//! Comments with `@` above a job are read by [`Decorations`]; the remote `gcl-origin` is preferred
//! where the repository is described.

mod decorations;
mod option_files;

pub use decorations::{Decoration, Decorations};
pub(crate) use option_files::{FileOptions, read_options};

/// The second pipeline file.
pub(crate) const OVERLAY: &str = ".gitlab-ci-local.yml";
/// The project's variables.
pub(crate) const VARIABLES: &str = ".gitlab-ci-local-variables.yml";
/// The project's options.
pub(crate) const OPTIONS: &str = ".gitlab-ci-local-env";
/// Where a user's files are, below the home directory.
pub(crate) const HOME: &str = ".gitlab-ci-local";
