//! Local projects in real repositories.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod project;

mod api_mode;
mod by_image;
mod creation;
mod gitlab_ci_local;
mod includes;
mod remote_includes;
mod repository;
mod rules;
mod runs;
mod situation;
mod variable_files;
