//! Local projects in real repositories.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod project;

mod api_mode;
mod by_image;
mod creation;
<<<<<<< HEAD
mod decisions;
=======
>>>>>>> 57f8c20f (workstation: accounts, settings of a pipeline and tests in plain words)
mod gitlab_ci_local;
mod includes;
<<<<<<< HEAD
mod remote;
=======
mod remote_includes;
>>>>>>> 57f8c20f (workstation: accounts, settings of a pipeline and tests in plain words)
mod repository;
mod rules;
mod runs;
mod situation;
mod variable_files;
