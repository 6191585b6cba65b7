//! Local projects in real repositories.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod project;

mod api_mode;
mod by_image;
mod creation;
mod decisions;
mod gitlab_ci_local;
mod given;
mod includes;
mod remote;
mod repository;
mod runs;
mod situation;
