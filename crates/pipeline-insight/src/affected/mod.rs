//! Which jobs a change affects, and why.
//!
//! A job is affected if a file that it reads changed, or if a job whose results it gets is
//! affected. It reads the files that are declared for it, or else those of the `changes` of its
//! matching rule, or else any file. In case of doubt a job is affected, since a job too many only
//! costs time, but one too few hides an error.
//!
//! Patterns are those of `rules:changes` ([`glob`](pipeline::glob)), with three additions: a
//! pattern that names a directory (`src`, `src/`, `src/**`) matches everything below it, `./` and
//! `/` at the beginning mean the root of the project, and in a directory whose files are unknown (a
//! submodule, a nested repository) any file may have changed.

mod affected_jobs;
mod cause;
mod dependants;
mod file_index;
mod finder;
mod input_pattern;
mod reads;

pub use affected_jobs::{AffectedJob, AffectedJobs, Changed, InputsOf, affected};
pub use cause::Cause;
pub use input_pattern::InputPattern;

#[cfg(test)]
mod tests;
