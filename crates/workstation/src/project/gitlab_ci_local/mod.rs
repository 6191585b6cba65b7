//! The files of gitlab-ci-local in projects and home directories.
//!
//! | file | use |
//! |---|---|
//! | `.gitlab-ci-local.yml` | a second pipeline file, merged over the first |
//! | `.gitlab-ci-local-variables.yml` | variables of the project |
//! | `.gitlab-ci-local-env` | options: those of the pipeline are used, others are noted with ours |
//! | `~/.gitlab-ci-local/variables.yml` | the user's variables for all projects, groups, one project |
//! | `~/.gitlab-ci-local/.env` | options, below those of the project |
//!
//! [`Decorations`] reads comments with `@` above a job. The remote `gcl-origin` is preferred for the description of
//! the repository.

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
/// The directory of the user's files in the home directory.
pub(crate) const HOME: &str = ".gitlab-ci-local";
