//! Our own terminal, while a shell of a job has it.

mod attach;
mod modes;
mod own;
mod raw;

pub(crate) use attach::attach;
pub(crate) use own::OwnTerminal;
