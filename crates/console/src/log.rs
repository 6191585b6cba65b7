//! Our own log, kept from damaging the live view.

use super::console::Console;
use crate::tui::FullScreen;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The live view that has the terminal now. The log is one for the process, and so is this.
static LIVE: Mutex<Weak<Console>> = Mutex::new(Weak::new());

/// The full screen that has it.
static SCREEN: Mutex<Weak<FullScreen>> = Mutex::new(Weak::new());

/// Lets what is written to standard error appear above the live view from now on, if both go to a
/// terminal.
pub fn show_errors_above(console: &Arc<Console>) {
    if console.is_live() && io::stderr().is_terminal() {
        *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(console);
    }
}

/// Lets what is written to standard error appear among the messages of the full screen, as long as that
/// has the terminal.
pub fn show_errors_on(screen: &Arc<FullScreen>) {
    if io::stderr().is_terminal() {
        *SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(screen);
    }
}

/// Lets what is written to standard error go there again.
pub fn show_errors_directly() {
    *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = Weak::new();
    *SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = Weak::new();
}

/// Standard error, or the text above the live view.
#[derive(Debug, Default)]
pub struct ErrorStream;

impl Write for ErrorStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let screen = SCREEN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .upgrade();
        if screen.is_some_and(|screen| screen.tell(&String::from_utf8_lossy(bytes))) {
            return Ok(bytes.len());
        }
        let live = LIVE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .upgrade();
        match live {
            Some(console) => console.write(&String::from_utf8_lossy(bytes)),
            None => io::stderr().lock().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
