//! `runwright shell`: entering a job.

mod enter;
mod entrance;
mod herald;
mod wish;

pub(crate) use enter::shell;
