//! Standard output, and standard error without damage to the view that has the terminal.

use parking_lot::{Mutex, MutexGuard};
use std::fmt::Debug;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Weak};

/// A view that can show text written to standard error.
pub trait ErrorView: Debug + Send + Sync {
    /// Shows the text; false when the view does not have the terminal now.
    fn show(&self, text: &str) -> bool;
}

/// The view that has the terminal. A process has one standard error, so there is one such view.
static VIEW: Mutex<Option<Weak<dyn ErrorView>>> = Mutex::new(None);

fn view() -> MutexGuard<'static, Option<Weak<dyn ErrorView>>> {
    VIEW.lock()
}

/// Shows text for standard error on a view from now on, if standard error is a terminal.
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

/// Prints text on standard output.
///
/// # Errors
///
/// When it cannot be written, except because the reader went away, as `head` does.
pub fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Clears the terminal that standard output is, with what has scrolled away.
pub fn clear_screen() {
    // A terminal that cannot be written to needs no clearing.
    let _ = print(b"\x1b[H\x1b[2J\x1b[3J");
}

/// Prints a line on standard error, or above the live view.
pub fn error_line(text: &str) {
    let _ = writeln!(ErrorStream, "{text}");
}
