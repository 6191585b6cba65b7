//! Which jobs a change touches, and why.
//!
//! A job is touched when a file changed that it reads, or when a job is touched whose results it gets.
//! What it reads is what somebody declared for it, else the `changes` of the rule that put it into the
//! pipeline, else anything. Whoever is unsure here says that a job is touched: a job too many costs time,
//! one too few hides a mistake.
//!
//! Patterns are those of `rules:changes` ([`glob`](pipeline::glob)), with three differences that all make
//! more of them: one that names a folder (`src`, `src/`, `src/**`) fits all that is below it, `./` and `/`
//! at the beginning mean the top of the project, and of a folder whose files are not known (a submodule,
//! a repository inside) any may have changed.

mod affected_jobs;
mod cause;
mod changed;
mod dependants;
mod file_index;
mod finder;
mod input_pattern;
mod reads;

pub use affected_jobs::{AffectedJob, AffectedJobs, affected};
pub use cause::Cause;
pub use changed::{Changed, InputsOf};
pub use input_pattern::InputPattern;

#[cfg(test)]
mod tests;
