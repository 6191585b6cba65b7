//! The files of gitlab-ci-local in projects and home directories.
//!
//! | file | use |
//! |---|---|
//! | `.gitlab-ci-local.yml` | a second pipeline file, merged over the first |
//! | `.gitlab-ci-local-variables.yml` | variables of the project |
//! | `.gitlab-ci-local-inputs.yml` | inputs of the pipeline, of included files, of components |
//! | `.gitlab-ci-local-env` | options: those of the pipeline are used, others are noted with ours |
//! | `~/.gitlab-ci-local/variables.yml` | the user's variables for all projects, groups, one project |
//! | `~/.gitlab-ci-local/.env` | options, below those of the project |
//!
//! Variables `GCL_OPTION` of the process environment are options above those of files.
//!
//! [`Decorations`] reads comments with `@` above a job. The remote `gcl-origin` is preferred for the description of
//! the repository.

mod decorations;
mod option_files;

pub use decorations::{Decoration, Decorations};
pub use option_files::advice_on_option;
pub(crate) use option_files::{FileOptions, read_environment, read_options};

/// The second pipeline file.
pub(crate) const OVERLAY: &str = ".gitlab-ci-local.yml";
/// The project's variables.
pub(crate) const VARIABLES: &str = ".gitlab-ci-local-variables.yml";
/// The project's inputs.
pub(crate) const INPUTS: &str = ".gitlab-ci-local-inputs.yml";
/// Patterns of files that jobs do not get, which are not used.
pub(crate) const IGNORES: &str = ".gitlab-ci-local-ignores";
/// The project's options.
pub(crate) const OPTIONS: &str = ".gitlab-ci-local-env";
/// The option of that file that names the pipeline file, for errors.
pub(crate) const FILE_OPTION: &str = "FILE of .gitlab-ci-local-env";
/// The directory of the user's files in the home directory.
pub(crate) const HOME: &str = ".gitlab-ci-local";
