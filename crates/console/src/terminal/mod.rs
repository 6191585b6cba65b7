//! Our own terminal, while a shell of a job or a question has it.

mod attach;
mod modes;
mod own;
mod question;
mod raw;

pub use attach::attach;
pub use own::OwnTerminal;
pub use question::while_asking;
