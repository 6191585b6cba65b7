//! The parts of a screen of any size.

use ratatui::layout::Rect;

/// From this width on, stages stand beside each other.
const WIDE: u16 = 100;

/// From this width on, details are shown without being asked for.
const ROOMY: u16 = 120;

/// How wide details are beside a log.
const DETAILS: u16 = 38;

/// A body with fewer rows shows one thing at a time.
const SPLIT: u16 = 7;

/// Where the parts are; one without room has no area.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) all: Rect,
    pub(super) head: Rect,
    pub(super) graph: Rect,
    /// Stages stand beside each other, not below.
    pub(super) has_columns: bool,
    pub(super) title: Rect,
    pub(super) log: Rect,
    pub(super) details: Rect,
    pub(super) foot: Rect,
}

/// What the layout has to make room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The size of the screen.
    pub(super) columns: u16,
    pub(super) rows: u16,
    /// How many rows the graph takes with stages beside each other, and below each other.
    pub(super) beside: usize,
    pub(super) below: usize,
    pub(super) is_zoomed: bool,
    /// The keys are for the log.
    pub(super) is_log: bool,
    pub(super) details: Option<bool>,
}

impl Layout {
    /// Returns where the parts are.
    pub(super) fn of(wanted: &Wanted) -> Self {
        let Wanted { columns, rows, .. } = *wanted;
        let row = |y: u16, height: u16| Rect::new(0, y, columns, height);
        let mut layout = Self {
            all: row(0, rows),
            has_columns: columns >= WIDE,
            ..Self::default()
        };
        let (mut top, mut bottom) = (0, rows);
        if rows >= 3 {
            bottom -= 1;
            layout.foot = row(bottom, 1);
        }
        if rows >= 4 && !wanted.is_zoomed {
            layout.head = row(0, 1);
            top = 1;
        }
        let body = bottom - top;
        let graph = if wanted.is_zoomed {
            0
        } else if body < SPLIT {
            if wanted.is_log { 0 } else { body }
        } else {
            let needed = if layout.has_columns {
                wanted.beside
            } else {
                wanted.below
            };
            let needed = u16::try_from(needed).unwrap_or(u16::MAX);
            needed.clamp(2, (body / 5 * 2 + body % 5 * 2 / 5).max(2))
        };
        layout.graph = row(top, graph);
        top += graph;
        layout.lower(wanted, top, bottom);
        layout
    }

    /// Lays out the part below the graph.
    fn lower(&mut self, wanted: &Wanted, mut top: u16, bottom: u16) {
        if bottom - top >= 2 {
            self.title = Rect::new(0, top, wanted.columns, 1);
            top += 1;
        }
        let mut log = Rect::new(0, top, wanted.columns, bottom - top);
        let has_details = wanted.details.unwrap_or(wanted.columns >= ROOMY);
        if has_details && !wanted.is_zoomed {
            if log.width >= 2 * DETAILS {
                log.width -= DETAILS;
                self.details = Rect::new(log.width, log.y, DETAILS, log.height);
            } else {
                self.details = log;
                log.width = 0;
            }
        }
        self.log = log;
    }

    /// Returns how many columns and rows of a log are in view.
    pub(super) fn log_size(&self) -> (usize, usize) {
        (usize::from(self.log.width), usize::from(self.log.height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_on_the_screen_and_apart() {
        for columns in (0..200).step_by(7).chain([1, 2, 3, 1000, u16::MAX]) {
            for rows in (0..60).chain([1000, u16::MAX]) {
                for flags in 0..12 {
                    let wanted = Wanted {
                        columns,
                        rows,
                        beside: 5,
                        below: 500,
                        is_zoomed: flags % 2 == 0,
                        is_log: flags % 4 < 2,
                        details: [None, Some(false), Some(true)][flags / 4],
                    };
                    let layout = Layout::of(&wanted);
                    let Layout {
                        all,
                        head,
                        graph,
                        title,
                        log,
                        details,
                        foot,
                        ..
                    } = layout;
                    let parts = [head, graph, title, log, details, foot];
                    for (at, part) in parts.iter().enumerate() {
                        assert_eq!(part.intersection(all).area(), part.area(), "{layout:?}");
                        for other in &parts[..at] {
                            let both = part.intersection(*other);
                            assert!(both.is_empty(), "{layout:?}");
                        }
                    }
                }
            }
        }
    }
}
