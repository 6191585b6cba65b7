//! The footer of the live view.

use super::board::Board;
use super::region::{Size, region};
use super::screen::Screen;
use super::shared::Footer;
use super::style::Style;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A terminal that has not told its size is taken for one of this.
const USUAL: Size = Size {
    columns: 80,
    rows: 24,
};

/// Draws a board below the text.
pub(super) struct LiveFooter {
    board: Arc<Mutex<Board>>,
    screen: Screen,
    style: Style,
}

impl LiveFooter {
    pub(super) fn new(board: Arc<Mutex<Board>>, style: Style) -> Self {
        Self {
            board,
            screen: Screen::default(),
            style,
        }
    }
}

impl Footer for LiveFooter {
    fn frame(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let size = size_of_stdout();
        let mut board = self.board.lock();
        board.look_ahead(Timestamp::now());
        let lines = region(&board, size, Instant::now(), self.style);
        drop(board);
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
