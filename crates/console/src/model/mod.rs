//! A running pipeline with those its jobs started: the one state that every view of a run shows.
//!
//! [`RunModel`] changes by events alone, through [`RunModel::apply`], which returns what changed. A
//! view adds what is its own: the text of logs, and what the user selected.

mod outcome;
mod reducer;
mod run;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use outcome::Outcome;
pub(crate) use reducer::Change;
pub(crate) use run::{JobState, RunModel};

/// Stands between the job that started a pipeline and a job of that pipeline.
pub const CHILD_SEPARATOR: &str = " > ";
