//! Our own terminal, while a shell of a job or a question has it.

mod attach;
mod handover;
mod modes;
mod question;
mod raw;
mod signals;

pub use attach::attach;
pub use handover::OwnTerminal;
pub use question::while_asking;
pub use signals::{Signals, TerminalChange, TerminalSignals};
