use super::job_log::JobLog;
use crate::text::strip_controls;
use std::borrow::Cow;

/// The words of a search for errors.
const ERRORS: [&str; 7] = [
    "error",
    "fatal",
    "failed",
    "failure",
    "panicked",
    "exception",
    "traceback",
];

/// A search through a log, done a part at a time, since a log may be long.
#[derive(Debug, Clone)]
pub(in crate::full_screen) struct Search {
    needles: Vec<String>,
    /// Capitals do not count, as no needle has one.
    folds_case: bool,
    /// How many lines of each block have a hit, as far as was looked.
    counts: Vec<u32>,
    total: u64,
}

/// A direction in a log or among jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::full_screen) enum Direction {
    Forward,
    Backward,
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::full_screen) enum Found {
    Row(u64),
    /// More of the log has to be searched.
    NotYet,
    Nothing,
}

impl Search {
    /// Returns a search for a text.
    pub(in crate::full_screen) fn new(text: &str) -> Self {
        Self::of(vec![text.to_owned()])
    }

    /// Returns a search for errors.
    pub(in crate::full_screen) fn for_errors() -> Self {
        Self::of(ERRORS.map(ToOwned::to_owned).to_vec())
    }

    fn of(needles: Vec<String>) -> Self {
        let folds_case = needles.iter().all(|needle| folded(needle) == *needle);
        Self {
            needles,
            folds_case,
            counts: Vec::new(),
            total: 0,
        }
    }

    /// Returns the same search of another log.
    pub(in crate::full_screen) fn anew(&self) -> Self {
        Self::of(self.needles.clone())
    }

    /// Returns what the search is for, for people.
    pub(in crate::full_screen) fn title(&self) -> &str {
        match self.needles.as_slice() {
            [needle] => needle,
            _ => "errors",
        }
    }

    /// Looks at some more blocks; returns whether some are left.
    pub(in crate::full_screen) fn look(&mut self, log: &mut JobLog, most: usize) -> bool {
        let full = log.blocks().full();
        let end = full.min(self.counts.len() + most);
        for index in self.counts.len()..end {
            let count = self.count(log.blocks().block(index), u64::MAX);
            self.counts.push(u32::try_from(count).unwrap_or(u32::MAX));
            self.total += count;
        }
        end < full
    }

    /// Returns whether all of the log was looked at, but for the end that is still written.
    pub(in crate::full_screen) fn is_done(&self, log: &mut JobLog) -> bool {
        self.counts.len() >= log.blocks().full()
    }

    /// Returns how many lines have a hit, of those that were looked at.
    pub(in crate::full_screen) fn total(&self, log: &mut JobLog) -> u64 {
        let full = log.blocks().full();
        self.total + self.count(log.blocks().block(full), u64::MAX)
    }

    /// Returns how many lines before this one have a hit, if that is known.
    pub(in crate::full_screen) fn before(&self, log: &mut JobLog, row: u64) -> Option<u64> {
        let blocks = log.blocks();
        let block = blocks.block_of(row);
        let counts = self.counts.get(..block)?;
        let in_block = row.saturating_sub(blocks.first_of(block));
        let counted: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        Some(counted + self.count(blocks.block(block), in_block))
    }

    /// Finds the next line with a hit, that itself or one behind it, or before it.
    pub(in crate::full_screen) fn find(
        &self,
        log: &mut JobLog,
        from: u64,
        way: Direction,
    ) -> Found {
        let blocks = log.blocks();
        let full = blocks.full();
        let mut block = blocks.block_of(from);
        loop {
            if block < full && block >= self.counts.len() {
                return Found::NotYet;
            }
            if self.counts.get(block).is_none_or(|count| *count > 0) {
                let first = blocks.first_of(block);
                let lines = (first..).zip(blocks.block(block).split_terminator('\n'));
                let mut hits = lines
                    .filter(|(_, line)| self.is_in(line))
                    .map(|(row, _)| row);
                let hit = match way {
                    Direction::Forward => hits.find(|row| *row >= from),
                    Direction::Backward => hits.take_while(|row| *row <= from).last(),
                };
                if let Some(row) = hit {
                    return Found::Row(row);
                }
            }
            match way {
                Direction::Forward if block < full => block += 1,
                Direction::Backward if block > 0 => block -= 1,
                _ => return Found::Nothing,
            }
        }
    }

    /// Returns where the hits in a text are, in bytes.
    pub(in crate::full_screen) fn hits(&self, text: &str) -> Vec<(usize, usize)> {
        let haystack = self.fold(text);
        if haystack.len() != text.len() {
            // Some letters change their length; the line is still found.
            return Vec::new();
        }
        let mut hits: Vec<_> = self
            .needles
            .iter()
            .flat_map(|needle| {
                let starts = haystack.match_indices(needle.as_str());
                starts.map(|(at, it)| (at, at + it.len()))
            })
            .collect();
        hits.sort_unstable();
        hits
    }

    /// Counts the lines with a hit among the first of a block.
    fn count(&self, block: &str, most: u64) -> u64 {
        let lines = block.split_terminator('\n');
        let lines = lines.take(usize::try_from(most).unwrap_or(usize::MAX));
        if !self.may_be_in(block) {
            return 0;
        }
        let count = lines.filter(|line| self.is_in(line)).count();
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// A quick look at many lines at once; codes within a word are looked behind all the same.
    fn may_be_in(&self, block: &str) -> bool {
        block.contains('\x1b') || {
            let block = self.fold(block);
            self.needles.iter().any(|needle| block.contains(needle))
        }
    }

    /// Returns whether a kept line, with its letter, has a hit.
    fn is_in(&self, line: &str) -> bool {
        let text = line.get(1..).unwrap_or_default();
        let plain = if text.contains('\x1b') {
            Cow::Owned(strip_controls(text))
        } else {
            Cow::Borrowed(text)
        };
        let plain = self.fold(&plain);
        self.needles.iter().any(|needle| plain.contains(needle))
    }

    fn fold<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.folds_case {
            Cow::Owned(folded(text))
        } else {
            Cow::Borrowed(text)
        }
    }
}

fn folded(text: &str) -> String {
    if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::Store;
    use super::*;
    use crate::log::{Entry, Source};

    fn log(lines: impl IntoIterator<Item = String>) -> JobLog {
        let mut log = JobLog::new(Store::default(), true, false);
        for line in lines {
            log.stage(Entry::Line(Source::Stdout, &line));
        }
        log
    }

    #[test]
    fn hits_are_found_both_ways_and_counted() {
        let mut log = log((0..50_000).map(|number| match number % 1_000 {
            7 => format!("{number} \x1b[31mEr\x1b[0mror: it is broken"),
            _ => format!("{number} compiling something"),
        }));
        let mut search = Search::new("error");
        assert_eq!(search.find(&mut log, 0, Direction::Forward), Found::NotYet);
        while search.look(&mut log, 3) {}
        assert_eq!(search.total(&mut log), 50);
        assert_eq!(search.find(&mut log, 0, Direction::Forward), Found::Row(7));
        assert_eq!(
            search.find(&mut log, 8, Direction::Forward),
            Found::Row(1_007)
        );
        assert_eq!(
            search.find(&mut log, 49_999, Direction::Backward),
            Found::Row(49_007)
        );
        assert_eq!(
            search.find(&mut log, 49_008, Direction::Forward),
            Found::Nothing
        );
        assert_eq!(
            search.find(&mut log, 6, Direction::Backward),
            Found::Nothing
        );
        assert_eq!(search.before(&mut log, 1_007), Some(1));
        assert_eq!(search.before(&mut log, 49_999), Some(50));
    }

    #[test]
    fn capitals_count_if_the_pattern_has_one() {
        let check = |text: &str, line: &str, expect: &[(usize, usize)]| {
            let search = Search::new(text);
            assert_eq!(search.hits(line), expect, "{text}");
            let mut log = log([line.to_owned()]);
            let found = search.find(&mut log, 0, Direction::Forward);
            assert_eq!(found == Found::Row(0), !expect.is_empty(), "{text}");
        };
        check("ab", "xAB ab", &[(1, 3), (4, 6)]);
        check("Ab", "xAB ab", &[]);
        check("AB", "xAB ab", &[(1, 3)]);
        check("\u{fc}b", "\u{dc}ber", &[(0, 3)]);
        let errors = Search::for_errors();
        assert_eq!(errors.title(), "errors");
        assert_eq!(errors.hits("make: *** Error 1"), [(10, 15)]);
    }
}
