use super::modes::Modes;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::OwnedFd;

/// A terminal that passes through every key and shows every byte unchanged.
///
/// Dropping it restores the terminal, also during a panic: its modes, and what the attached program
/// switched on and left on.
#[derive(Debug)]
pub(crate) struct RawMode<'t> {
    terminal: &'t OwnedFd,
    before: Termios,
    /// The modes that the output switched on.
    pub(super) modes: Modes,
}

impl<'t> RawMode<'t> {
    pub(super) fn begin(terminal: &'t OwnedFd) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let raw = Self {
            terminal,
            before,
            modes: Modes::default(),
        };
        raw.set()?;
        Ok(raw)
    }

    /// Sets raw mode again after another program had the terminal.
    pub(super) fn set(&self) -> io::Result<()> {
        let mut modes = self.before.clone();
        modes.make_raw();
        Ok(tcsetattr(self.terminal, OptionalActions::Now, &modes)?)
    }
}

impl Drop for RawMode<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = rustix::io::write(self.terminal, &self.modes.undone());
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}
