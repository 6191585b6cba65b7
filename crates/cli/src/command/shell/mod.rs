//! `runwright shell`: a shell in the environment of a job.

mod progress;
mod run;
mod task;
mod visitor;

pub(crate) use run::shell;
