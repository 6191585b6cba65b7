//! Job variables: their attributes, lookup by name, and expansion of references.
//!
//! As with GitLab, values are expanded twice, with two grammars.
//!
//! - The creator of the job (GitLab's server, or the `pipeline` crate) expands variables recursively.
//!   It also knows `%NAME%`, and leaves `$$` and unknown names for the runner, which knows more variables.
//! - The runner then expands in one pass with this module: an unknown name becomes empty, and `$$`
//!   becomes a dollar sign.
//!
//! A single grammar would lose the runner's variables or replace `$$` too early. Both grammars share
//! [`name_length`].

mod expand;
mod git_variables;
mod job_variable;
mod job_variables;

pub use expand::{
    LONGEST_VALUE, MAX_ENVIRONMENT_ENTRY, TooLong, expand_with, expand_within, name_length,
};
pub use git_variables::{GIT_REPOSITORY_VARIABLES, is_foreign_git_variable};
pub use job_variable::JobVariable;
pub use job_variables::{JobVariables, without_secrets};
