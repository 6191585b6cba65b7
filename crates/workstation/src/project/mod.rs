//! A working tree and its pipeline: the repository, the situation, variables, included files.

pub(crate) mod bitrab;
pub(crate) mod changed;
#[cfg(feature = "functions")]
pub(crate) mod check_steps;
pub(crate) mod declared_changes;
pub(crate) mod gitlab_ci_local;
pub(crate) mod hooks;
pub(crate) mod includes;
pub(crate) mod local_pipeline;
pub(crate) mod local_project;
pub(crate) mod pipeline_options;
pub(crate) mod project_context;
pub(crate) mod read_file;
pub(crate) mod repository;
pub(crate) mod situation;
pub(crate) mod user_input;
pub(crate) mod variable_files;
