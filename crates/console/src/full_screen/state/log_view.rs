use super::ScreenState;
use crate::full_screen::ansi;
use crate::full_screen::log::{Direction, Found, Row, RowKind};
use crate::text::seconds;
use executor_core::HumanDuration;
use ratatui::text::{Line, Span};

/// How many blocks of a log are searched before keys are checked again.
const SEARCHED: usize = 64;

/// The lines of a log that are in view.
#[derive(Debug, Default)]
pub(in crate::full_screen) struct LogLines {
    /// Each with the number of its row.
    pub(in crate::full_screen) lines: Vec<(u64, Line<'static>)>,
    /// The search: the number of lines with a hit, the index of this one, and whether the search continues.
    pub(in crate::full_screen) hits: Option<Hits>,
}

/// Whether a search has wrapped around the end of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapped {
    None,
    Once,
}

/// What the search has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::full_screen) struct Hits {
    pub(in crate::full_screen) total: u64,
    pub(in crate::full_screen) current: Option<u64>,
    pub(in crate::full_screen) is_running: bool,
}

impl ScreenState {
    /// Continues the search; returns whether more of the log is left.
    pub(in crate::full_screen) fn work(&mut self) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        let Some(job) = self.views.get_mut(self.selected) else {
            return false;
        };
        let is_running = search.look(&mut job.log, SEARCHED);
        self.is_stale |= is_running;
        if let Some((way, from)) = self.goes {
            self.hit(way, from, Wrapped::None);
        }
        is_running
    }

    /// Goes to the next hit from this row on; behind the last one it begins at the other end.
    pub(super) fn hit(&mut self, way: Direction, from: u64, turn: Wrapped) {
        let (Some(search), Some(job)) = (&self.search, self.views.get_mut(self.selected)) else {
            return;
        };
        self.is_stale = true;
        self.goes = None;
        match (search.find(&mut job.log, from, way), turn) {
            (Found::Row(row), _) => {
                job.log.reveal(row);
                job.pager.go(row);
            }
            (Found::NotYet, _) => self.goes = Some((way, from)),
            (Found::Nothing, Wrapped::None) => {
                let (start, text) = match way {
                    Direction::Forward => (0, "from the top"),
                    Direction::Backward => (job.log.rows().saturating_sub(1), "from the end"),
                };
                self.say(text);
                self.hit(way, start, Wrapped::Once);
            }
            (Found::Nothing, Wrapped::Once) => {
                let text = format!("no {:?} in this log", search.title());
                self.say(&text);
            }
        }
    }

    /// Fits the view of the selected log to its size, and returns the visible lines.
    pub(in crate::full_screen) fn log_lines(&mut self) -> LogLines {
        let (width, room) = self.layout.log_size();
        let wraps = self.wraps;
        let style = self.style;
        let search = self.search.take();
        let mut shown = LogLines::default();
        if let Some(job) = self.views.get_mut(self.selected)
            && width > 0
            && room > 0
        {
            let (log, pager) = (&mut job.log, &mut job.pager);
            let unfinished = log.unfinished();
            let reserved = usize::from(unfinished.is_some() && pager.follows && room > 1);
            pager.settle(log, room - reserved, |log, row| {
                if !wraps {
                    return 1;
                }
                let text = log.row(row).map(|row| text_of(&row, style));
                let lines = text.map_or(1, |text| ansi::wrapped(&text, width, room).len());
                lines.clamp(1, room)
            });
            let mut next = log.last().map(|_| pager.top);
            while let Some(number) = next
                && shown.lines.len() < room
            {
                if let Some(row) = log.row(number) {
                    let mut line = text_of(&row, style);
                    if let Some(search) = &search {
                        line = ansi::marked(line, search);
                    }
                    if wraps {
                        let lines = ansi::wrapped(&line, width, room);
                        shown
                            .lines
                            .extend(lines.into_iter().map(|line| (number, line)));
                    } else {
                        shown.lines.push((number, ansi::shifted(line, pager.shift)));
                    }
                }
                next = log.next(number);
            }
            if next.is_none()
                && let Some(text) = unfinished
            {
                let line = ansi::line(&text);
                shown
                    .lines
                    .push((u64::MAX, ansi::shifted(line, pager.shift)));
            }
            shown.lines.truncate(room);
            shown.hits = search.as_ref().map(|search| {
                let total = search.total(log);
                let row = log.row(pager.cursor);
                let is_hit = row.is_some_and(|row| {
                    !search
                        .hits(&crate::text::strip_controls(&row.text))
                        .is_empty()
                });
                let before = search.before(log, pager.cursor).filter(|_| is_hit);
                Hits {
                    total,
                    current: before.map(|before| before + 1),
                    is_running: !search.is_done(log),
                }
            });
        }
        self.search = search;
        shown
    }
}

/// Returns a row as it looks, without wrapping.
fn text_of(row: &Row, style: crate::text::Style) -> Line<'static> {
    use crate::text::{Mark, Tone};
    let look = |tone| crate::full_screen::tones::style_of(style, tone);
    match row.kind {
        RowKind::Line(source) => {
            let mut line = ansi::line(&row.text);
            line.style = look(match source {
                crate::log::Source::Warning => Tone::Warning,
                crate::log::Source::Info => Tone::Quiet,
                _ => Tone::Plain,
            });
            line
        }
        RowKind::Note => Line::styled(format!("-- {} --", row.text), look(Tone::Quiet)),
        RowKind::Header => {
            let mut line = ansi::line(&row.text);
            line.style = look(Tone::Strong);
            let Some(fold) = row.fold else {
                return line;
            };
            let mark = if fold.is_folded {
                style.mark(Mark::Folded)
            } else if style.has_unicode() {
                "▾"
            } else {
                "v"
            };
            line.spans.insert(0, Span::raw(format!("{mark} ")));
            let mut remarks = Vec::new();
            if fold.is_folded {
                let rows = usize::try_from(fold.rows).unwrap_or(usize::MAX);
                remarks.push(crate::text::counted(rows, "line"));
            }
            if let Some(duration) = fold.duration {
                remarks.push(if duration.as_secs() == 0 {
                    seconds(duration)
                } else {
                    format!("{:.0}", HumanDuration(duration))
                });
            }
            if !remarks.is_empty() {
                let remarks = format!("  {}", remarks.join(", "));
                line.spans.push(Span::styled(remarks, look(Tone::Quiet)));
            }
            line
        }
    }
}
