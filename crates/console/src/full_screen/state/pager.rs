use crate::full_screen::log::JobLog;

/// The scroll position in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::full_screen) struct Pager {
    /// The selected row.
    pub(in crate::full_screen) cursor: u64,
    /// The row at the top.
    pub(in crate::full_screen) top: u64,
    /// The last row stays in view.
    pub(in crate::full_screen) follows: bool,
    /// How many columns are hidden at the left.
    pub(in crate::full_screen) shift: usize,
}

impl Default for Pager {
    fn default() -> Self {
        Self {
            cursor: 0,
            top: 0,
            follows: true,
            shift: 0,
        }
    }
}

impl Pager {
    /// Moves to a visible row.
    pub(super) fn go(&mut self, row: u64) {
        self.cursor = row;
        self.follows = false;
    }

    /// Goes down by rows; at the last it does not follow by itself.
    pub(super) fn down(&mut self, log: &JobLog, by: usize) {
        let mut row = log.nearest(self.cursor);
        for _ in 0..by {
            match log.next(row) {
                Some(next) => row = next,
                None => break,
            }
        }
        self.go(row);
    }

    /// Goes up by rows.
    pub(super) fn up(&mut self, log: &JobLog, by: usize) {
        let mut row = log.nearest(self.cursor);
        for _ in 0..by {
            match log.previous(row) {
                Some(previous) => row = previous,
                None => break,
            }
        }
        self.go(row);
    }

    /// Brings the selected row into view; `height` tells how many lines a row takes.
    pub(super) fn settle(
        &mut self,
        log: &mut JobLog,
        room: usize,
        mut height: impl FnMut(&mut JobLog, u64) -> usize,
    ) {
        self.cursor = log.nearest(self.cursor);
        if self.follows {
            self.cursor = log.last().unwrap_or(0);
        }
        self.top = log.nearest(self.top).min(self.cursor);
        // The first row from which the selected one still fits.
        let mut first = self.cursor;
        let mut taken = height(log, first);
        while let Some(previous) = log.previous(first) {
            taken += height(log, previous);
            if taken > room {
                break;
            }
            first = previous;
        }
        self.top = if self.follows {
            first
        } else {
            self.top.max(first)
        };
    }
}
