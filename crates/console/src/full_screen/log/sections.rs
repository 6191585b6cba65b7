use std::ops::Range;
use std::time::Duration;

/// A log that begins more sections than this is not folded any further.
const MOST: usize = 10_000;

/// What belongs together in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::full_screen) struct Section {
    name: String,
    /// The row of its header.
    start: u64,
    /// The row behind its last.
    end: Option<u64>,
    folded: bool,
    /// Not even its header shows.
    silent: bool,
    /// When it began, in seconds since 1970, as far as the log tells.
    began: u64,
    duration: Option<Duration>,
}

impl Section {
    /// Returns whether only its header shows.
    pub(in crate::full_screen) fn is_folded(&self) -> bool {
        self.folded
    }

    /// Returns how long it took, once that is known.
    pub(in crate::full_screen) fn duration(&self) -> Option<Duration> {
        self.duration
    }

    /// Returns how many rows it has besides its header, of a log with so many rows.
    pub(in crate::full_screen) fn rows(&self, rows: u64) -> u64 {
        let end = self.end.unwrap_or(rows);
        end.saturating_sub(self.start + 1)
    }

    fn hides(&self) -> Option<Range<u64>> {
        let end = self.end.unwrap_or(u64::MAX);
        if self.silent {
            Some(self.start..end)
        } else {
            self.folded.then_some(self.start + 1..end)
        }
    }

    fn contains(&self, row: u64) -> bool {
        self.start <= row && self.end.is_none_or(|end| row < end)
    }
}

/// The sections of a log, one in the other, and which rows show.
#[derive(Debug, Default)]
pub(super) struct Sections {
    /// By their starts.
    all: Vec<Section>,
    /// Those that have not ended, from the outermost to the innermost.
    open: Vec<usize>,
    /// What does not show: apart from each other, in order.
    hidden: Vec<Range<u64>>,
}

impl Sections {
    /// Begins a section with a header in this row. Returns whether there is room for one more.
    pub(super) fn begin(&mut self, name: &str, row: u64, folded: bool, began: u64) -> bool {
        if self.all.len() >= MOST {
            return false;
        }
        self.open.push(self.all.len());
        self.all.push(Section {
            name: name.to_owned(),
            start: row,
            end: None,
            folded,
            silent: false,
            began,
            duration: None,
        });
        self.hide();
        true
    }

    /// Ends the innermost section of this name, and all in it, before this row.
    /// `lasted` tells how long it took, by when it began.
    pub(super) fn end(&mut self, name: &str, row: u64, lasted: impl FnOnce(u64) -> Duration) {
        let found = self.open.iter().rposition(|&at| self.all[at].name == name);
        let Some(found) = found else {
            return;
        };
        for at in self.open.drain(found..) {
            self.all[at].end = Some(row);
        }
        let ended = self.all.iter_mut().rev().find(|it| it.name == name);
        if let Some(ended) = ended {
            ended.duration = Some(lasted(ended.began));
        }
        self.hide();
    }

    /// Changes the outermost section that is open.
    pub(super) fn change_open(&mut self, folded: bool) {
        if let Some(&at) = self.open.first() {
            self.all[at].folded = folded;
            self.hide();
        }
    }

    /// Keeps the last section out of sight, also its header.
    pub(super) fn silence_last(&mut self) {
        if let Some(last) = self.all.last_mut() {
            last.silent = true;
            self.hide();
        }
    }

    /// Ends all sections before this row.
    pub(super) fn finish(&mut self, row: u64) {
        for at in self.open.drain(..) {
            self.all[at].end = Some(row);
        }
        self.hide();
    }

    /// Returns the section whose header is in this row.
    pub(super) fn header(&self, row: u64) -> Option<&Section> {
        let at = self.all.partition_point(|section| section.start < row);
        self.all.get(at).filter(|section| section.start == row)
    }

    /// Folds or unfolds the innermost section that a row belongs to; returns the row of its header.
    pub(super) fn toggle(&mut self, row: u64) -> Option<u64> {
        let section = self.all.iter_mut().rev().find(|it| it.contains(row))?;
        section.folded = !section.folded;
        let start = section.start;
        self.hide();
        Some(start)
    }

    /// Folds all sections, or none if all that can be seen are folded.
    pub(super) fn toggle_all(&mut self) {
        let folded = self
            .all
            .iter()
            .any(|section| !section.silent && !section.folded);
        for section in &mut self.all {
            section.folded = folded;
        }
        self.hide();
    }

    /// Lets a row show.
    pub(super) fn reveal(&mut self, row: u64) {
        for section in self.all.iter_mut().filter(|section| section.contains(row)) {
            section.silent = false;
            // The header of a folded section shows.
            section.folded &= section.start == row;
        }
        self.hide();
    }

    /// Returns the row itself if it shows, or else the next one above or, failing that, below it.
    pub(super) fn nearest(&self, row: u64) -> u64 {
        match self.hidden_around(row) {
            None => row,
            Some(range) if range.start > 0 => range.start - 1,
            Some(range) => range.end,
        }
    }

    /// Returns the next row that shows.
    pub(super) fn next(&self, row: u64) -> u64 {
        let next = row.saturating_add(1);
        self.hidden_around(next).map_or(next, |range| range.end)
    }

    /// Returns the row that shows before this one.
    pub(super) fn previous(&self, row: u64) -> Option<u64> {
        let previous = row.checked_sub(1)?;
        match self.hidden_around(previous) {
            None => Some(previous),
            Some(range) => range.start.checked_sub(1),
        }
    }

    /// Returns how many rows show before this one.
    pub(super) fn shown_before(&self, row: u64) -> u64 {
        let before = self.hidden.iter().take_while(|range| range.start < row);
        let hidden: u64 = before.map(|range| range.end.min(row) - range.start).sum();
        row - hidden
    }

    fn hidden_around(&self, row: u64) -> Option<&Range<u64>> {
        let at = self.hidden.partition_point(|range| range.end <= row);
        self.hidden.get(at).filter(|range| range.contains(&row))
    }

    /// Works out what does not show.
    fn hide(&mut self) {
        self.hidden.clear();
        for range in self.all.iter().filter_map(Section::hides) {
            match self.hidden.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ if range.is_empty() => {}
                _ => self.hidden.push(range),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows that show, of so many.
    fn shown(sections: &Sections, rows: u64) -> Vec<u64> {
        let mut found = Vec::new();
        let mut row = sections.nearest(0);
        while row < rows {
            found.push(row);
            row = sections.next(row);
        }
        let mut back = found.clone();
        back.reverse();
        let mut expect = Vec::new();
        let mut last = found.last().copied();
        while let Some(row) = last {
            expect.push(row);
            last = sections.previous(row);
        }
        assert_eq!(back, expect, "backward it is the same");
        found
    }

    #[test]
    fn what_is_folded_does_not_show() {
        let mut sections = Sections::default();
        // 0 | 1 outer { 2 | 3 inner { 4 } | 5 } | 6 other { 7 } | 8
        sections.begin("outer", 1, false, 0);
        sections.begin("inner", 3, true, 0);
        sections.end("inner", 5, |_| Duration::from_secs(2));
        sections.end("outer", 6, |_| Duration::ZERO);
        sections.begin("other", 6, true, 0);
        assert_eq!(shown(&sections, 9), [0, 1, 2, 3, 5, 6], "it goes on");
        sections.end("other", 8, |_| Duration::ZERO);
        assert_eq!(shown(&sections, 9), [0, 1, 2, 3, 5, 6, 8]);
        assert_eq!(sections.toggle(2), Some(1));
        assert_eq!(shown(&sections, 9), [0, 1, 6, 8]);
        assert_eq!(sections.nearest(4), 1);
        assert_eq!(
            [0, 1, 4, 6, 9].map(|row| sections.shown_before(row)),
            [0, 1, 2, 2, 4]
        );
        sections.reveal(4);
        assert_eq!(shown(&sections, 9), [0, 1, 2, 3, 4, 5, 6, 8]);
        sections.toggle_all();
        assert_eq!(shown(&sections, 9), [0, 1, 6, 8]);
        sections.toggle_all();
        assert_eq!(shown(&sections, 9), (0..9).collect::<Vec<_>>());
        assert_eq!(sections.toggle(0), None);
        let inner = sections.header(3).unwrap();
        assert_eq!((inner.rows(9), inner.duration().unwrap().as_secs()), (1, 2));
        assert!(sections.header(2).is_none());
    }

    #[test]
    fn a_silent_section_leaves_nothing() {
        let mut sections = Sections::default();
        sections.begin("prepare", 0, true, 0);
        sections.end("prepare", 3, |_| Duration::ZERO);
        sections.silence_last();
        assert_eq!(shown(&sections, 5), [3, 4]);
        assert_eq!(sections.nearest(1), 3);
        sections.reveal(1);
        assert_eq!(shown(&sections, 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn ends_without_a_beginning_and_too_many_sections_do_no_harm() {
        let mut sections = Sections::default();
        sections.end("never", 3, |_| Duration::ZERO);
        for row in 0..20_000 {
            sections.begin("x", row, false, 0);
        }
        sections.finish(20_000);
        assert_eq!(sections.all.len(), MOST);
        assert_eq!(sections.next(5), 6);
    }
}
