//! A working tree and its pipeline: the repository, the situation, variables, included files.

pub(crate) mod bitrab;
pub(crate) mod changed;
pub(crate) mod declared_changes;
pub(crate) mod file;
pub(crate) mod gitlab_ci_local;
pub(crate) mod given;
pub(crate) mod given_files;
pub(crate) mod hooks;
pub(crate) mod includes;
pub(crate) mod local_pipeline;
pub(crate) mod local_project;
pub(crate) mod pipeline_options;
pub(crate) mod repository;
pub(crate) mod run_steps;
pub(crate) mod situation;
pub(crate) mod surroundings;
