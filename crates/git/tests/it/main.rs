//! Repositories made by git, described by the crate.

mod inspect;
mod support;
