//! Scripts for sh and bash; dash, bash and busybox all run them.

mod git;
mod helper;
mod parts;
mod writer;

pub(crate) use parts::IMPORT_ENVIRONMENT;
pub(crate) use writer::Posix;
