//! The footer of the live view.

use super::region::{Size, region};
use super::screen::Screen;
use crate::lines::writer::Footer;
use crate::model::RunModel;
use crate::text::Style;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The size of a terminal that does not report one.
const USUAL: Size = Size {
    columns: 80,
    rows: 24,
};

/// Draws a run below the text.
pub(in crate::lines) struct LiveFooter {
    run: Arc<Mutex<RunModel>>,
    screen: Screen,
    style: Style,
}

impl LiveFooter {
    pub(in crate::lines) fn new(run: Arc<Mutex<RunModel>>, style: Style) -> Self {
        Self {
            run,
            screen: Screen::default(),
            style,
        }
    }
}

impl Footer for LiveFooter {
    fn frame(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let size = size_of_stdout();
        let mut run = self.run.lock();
        run.update_outlook(Timestamp::now());
        let lines = region(&run, size, Instant::now(), self.style);
        drop(run);
        self.screen.frame(text, lines, size, out);
    }

    fn last_frame(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.screen.frame(text, Vec::new(), size_of_stdout(), out);
    }

    fn forget(&mut self) {
        self.screen.forget();
    }
}

fn size_of_stdout() -> Size {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
            columns: usize::from(size.ws_col),
            rows: usize::from(size.ws_row),
        },
        _ => USUAL,
    }
}

impl fmt::Debug for LiveFooter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveFooter").finish_non_exhaustive()
    }
}
