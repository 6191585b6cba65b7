//! The terminal while the full screen has it, and its restoration.

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use parking_lot::Mutex;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::prelude::{Backend, CrosstermBackend};
use std::io::{self, Write};
use std::sync::Once;
use std::thread;
use std::time::Duration;

/// The alternate screen, no cursor, bracketed paste.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[0m\x1b[2J";

/// Undoes all of it, and what a cut-off frame may have left.
const LEAVE: &[u8] =
    b"\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?1049l\x1b[?25h";

const MOUSE: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const NO_MOUSE: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// The largest picture, whatever size a terminal reports.
const MOST: (u16, u16) = (1000, 400);

/// The thread that draws. When another one panics, the screen stays.
pub(super) const THREAD: &str = "screen";

/// Whether the full screen has the terminal, of which a process has one.
static HAS_TERMINAL: Mutex<bool> = Mutex::new(false);

/// Takes the terminal, or takes it again after another program had it.
pub(super) fn enter(mouse: bool) -> io::Result<()> {
    restore_when_it_panics();
    let mut has_terminal = HAS_TERMINAL.lock();
    // Set first, so that a half-done switch is undone as well.
    *has_terminal = true;
    enable_raw_mode()?;
    put(ENTER)?;
    if mouse { put(MOUSE) } else { Ok(()) }
}

/// Restores the terminal; does nothing if it is restored already.
pub(super) fn restore() {
    if let Some(mut has_terminal) = HAS_TERMINAL.try_lock_for(Duration::from_millis(200)) {
        return restore_locked(&mut has_terminal);
    }
    // Another thread is stuck in writing to a terminal that reads nothing; its mode can be reset all the same.
    let _ = disable_raw_mode();
}

fn restore_locked(has_terminal: &mut bool) {
    if std::mem::take(has_terminal) {
        // Nothing is left to be done when the terminal is gone.
        let _ = put(LEAVE);
        let _ = disable_raw_mode();
    }
}

/// Writes to the terminal as long as the full screen has it.
pub(super) fn write(bytes: &[u8]) -> io::Result<()> {
    let has_terminal = HAS_TERMINAL.lock();
    if *has_terminal && !bytes.is_empty() {
        put(bytes)?;
    }
    Ok(())
}

/// Switches mouse reports on, or off so that the mouse selects text.
pub(super) fn capture_mouse(captured: bool) -> io::Result<()> {
    write(if captured { MOUSE } else { NO_MOUSE })
}

/// Returns the size of the terminal.
pub(super) fn size() -> (u16, u16) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (size.ws_col.min(MOST.0), size.ws_row.min(MOST.1))
        }
        _ => (80, 24),
    }
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Restores the terminal before a panic of the screen's thread is printed.
fn restore_when_it_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if thread::current().name() == Some(THREAD) {
                restore();
            }
            usual(info);
        }));
    });
}

/// The picture on the terminal, and the bytes that change it.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    shown: Option<Buffer>,
}

impl Canvas {
    /// Forgets the picture, because another program wrote over it.
    pub(super) fn forget(&mut self) {
        self.shown = None;
    }

    /// Returns an empty picture for this size.
    pub(super) fn picture(columns: u16, rows: u16) -> Buffer {
        Buffer::empty(Rect::new(0, 0, columns, rows))
    }

    /// Returns the bytes that show the next picture: all of it at once, none if nothing has changed.
    pub(super) fn frame(&mut self, next: Buffer) -> io::Result<Vec<u8>> {
        let shown = self.shown.take().filter(|it| it.area() == next.area());
        let is_anew = shown.is_none();
        let shown = shown.unwrap_or_else(|| Buffer::empty(*next.area()));
        let mut bytes = Vec::new();
        let changes = shown.diff(&next);
        if is_anew || !changes.is_empty() {
            bytes.extend_from_slice(b"\x1b[?2026h");
            if is_anew {
                bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
            }
            CrosstermBackend::new(&mut bytes).draw(changes.into_iter())?;
            bytes.extend_from_slice(b"\x1b[?2026l");
        }
        self.shown = Some(next);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Style;

    #[test]
    fn only_changes_are_written() {
        let mut canvas = Canvas::default();
        let picture = |text: &str| {
            let mut picture = Canvas::picture(20, 2);
            picture.set_string(0, 0, text, Style::new());
            picture
        };
        let first = canvas.frame(picture("hello")).unwrap();
        assert!(first.starts_with(b"\x1b[?2026h\x1b[0m\x1b[2J"));
        assert!(first.ends_with(b"\x1b[?2026l"));
        assert_eq!(canvas.frame(picture("hello")).unwrap(), b"");
        let next = String::from_utf8(canvas.frame(picture("hellz")).unwrap()).unwrap();
        assert!(next.contains('z') && !next.contains("ell"), "{next:?}");
        assert!(!next.contains("\x1b[2J"), "{next:?}");
        canvas.forget();
        let again = canvas.frame(picture("hellz")).unwrap();
        assert!(String::from_utf8(again).unwrap().contains("hellz"));
    }
}
