//! Scripts for sh and bash: one text that dash, bash and busybox all run.

mod git;
mod parts;
mod writer;

pub(crate) use parts::IMPORT_ENVIRONMENT;
pub(crate) use writer::Posix;
