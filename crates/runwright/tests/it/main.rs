//! Local projects in real repositories.

mod project;

mod gitlab_ci_local;
mod given;
mod includes;
mod repository;
mod situation;
