use super::modes::Modes;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::OwnedFd;

/// A terminal that hands through every key, and shows every byte as it is.
///
/// Dropping it puts the terminal back as it was, also while a panic passes: its modes, and what
/// whoever had it switched on and left so.
#[derive(Debug)]
pub(crate) struct RawMode<'t> {
    terminal: &'t OwnedFd,
    before: Termios,
    /// What is switched on by what was shown.
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
        raw.again()?;
        Ok(raw)
    }

    /// Does it once more, after somebody else had the terminal.
    pub(super) fn again(&self) -> io::Result<()> {
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
