//! Standard error, kept from damaging the view that has the terminal.

use super::console::Console;
use parking_lot::{Mutex, MutexGuard};
use std::fmt::Debug;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Weak};

/// A view that can show text written to standard error.
pub trait ErrorView: Debug + Send + Sync {
    /// Shows the text; false when the view does not have the terminal now.
    fn show(&self, text: &str) -> bool;
}

impl ErrorView for Console {
    fn show(&self, text: &str) -> bool {
        self.write(text);
        true
    }
}

/// The view that has the terminal. A process has one standard error, so there is one such view.
static VIEW: Mutex<Option<Weak<dyn ErrorView>>> = Mutex::new(None);

fn view() -> MutexGuard<'static, Option<Weak<dyn ErrorView>>> {
    VIEW.lock()
}

/// Shows what is written to standard error above the live view from now on, if both are on a terminal.
pub fn show_errors_above(console: &Arc<Console>) {
    if console.is_live() {
        show_errors_on(console);
    }
}

/// Shows what is written to standard error on a view from now on, if standard error is a terminal.
pub fn show_errors_on<V: ErrorView + 'static>(shown: &Arc<V>) {
    if io::stderr().is_terminal() {
        let shown: Weak<V> = Arc::downgrade(shown);
        *view() = Some(shown);
    }
}

/// Writes to standard error directly again.
pub fn show_errors_directly() {
    *view() = None;
}

/// Standard error, or the view that has the terminal.
#[derive(Debug, Default)]
pub struct ErrorStream;

impl Write for ErrorStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shown = view().as_ref().and_then(Weak::upgrade);
        if !shown.is_some_and(|view| view.show(&String::from_utf8_lossy(bytes))) {
            io::stderr().lock().write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
