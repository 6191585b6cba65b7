//! Our own terminal, while a shell of a job or a question has it.

mod attach;
mod modes;
mod own;
mod question;
mod raw;

pub(crate) use attach::attach;
pub(crate) use own::OwnTerminal;
pub(crate) use question::while_asking;
