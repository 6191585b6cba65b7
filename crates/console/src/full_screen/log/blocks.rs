use super::store::Store;
use std::ops::Range;

/// So much of a log is brought to disk at a time. Its table has an entry for each block, so a log
/// of a GiB takes less than a MiB of memory, however short its lines are.
const BLOCK: usize = 32 << 10;

/// The lines of a log by their numbers, each with a letter for what it is.
#[derive(Debug)]
pub(super) struct Blocks {
    store: Store,
    /// The blocks on disk.
    full: Vec<Block>,
    /// The last lines.
    tail: Vec<u8>,
    /// The number of the first of them.
    tail_first: u64,
    lines: u64,
    /// The block that was read last.
    read: Option<(usize, Vec<u8>)>,
}

#[derive(Debug)]
struct Block {
    first: u64,
    /// Where it is; nowhere when there was no room for it.
    at: Option<u64>,
    length: usize,
}

impl Blocks {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            full: Vec::new(),
            tail: Vec::new(),
            tail_first: 0,
            lines: 0,
            read: None,
        }
    }

    /// Appends a line, which holds no line end.
    pub(super) fn push(&mut self, letter: u8, text: &str) {
        self.tail.push(letter);
        self.tail.extend_from_slice(text.as_bytes());
        self.tail.push(b'\n');
        self.lines += 1;
        if self.tail.len() < BLOCK {
            return;
        }
        self.full.push(Block {
            first: self.tail_first,
            at: self.store.keep(&self.tail).ok(),
            length: self.tail.len(),
        });
        self.tail.clear();
        self.tail_first = self.lines;
    }

    /// Returns how many lines there are.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns how many blocks do not change any more; one more is still written.
    pub(super) fn full(&self) -> usize {
        self.full.len()
    }

    /// Returns the block that holds a line.
    pub(super) fn block_of(&self, line: u64) -> usize {
        if line >= self.tail_first {
            return self.full.len();
        }
        let after = self.full.partition_point(|block| block.first <= line);
        after.saturating_sub(1)
    }

    /// Returns the number of the first line of a block.
    pub(super) fn first_of(&self, block: usize) -> u64 {
        let block = self.full.get(block);
        block.map_or(self.tail_first, |block| block.first)
    }

    /// Returns the lines of a block with their letters, or nothing where they were lost.
    pub(super) fn block(&mut self, index: usize) -> &str {
        let bytes = match self.full.get(index) {
            None => &self.tail,
            Some(block) => {
                if self.read.as_ref().is_none_or(|(read, _)| *read != index) {
                    let (_, mut bytes) = self.read.take().unwrap_or_default();
                    bytes.resize(block.length, 0);
                    let read = block.at.map(|at| self.store.read(at, &mut bytes));
                    if !matches!(read, Some(Ok(()))) {
                        bytes.clear();
                    }
                    self.read = Some((index, bytes));
                }
                self.read.as_ref().map_or(&self.tail, |(_, bytes)| bytes)
            }
        };
        // All that is kept is text, in whole lines.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Hands out lines with their numbers and letters; those that were lost are told as such.
    pub(super) fn each(&mut self, range: Range<u64>, mut show: impl FnMut(u64, u8, &str)) {
        let end = range.end.min(self.lines);
        let mut next = range.start;
        while next < end {
            let block = self.block_of(next);
            let first = self.first_of(block);
            let behind = if block < self.full.len() {
                self.first_of(block + 1).min(end)
            } else {
                end
            };
            let lines = self.block(block).split_terminator('\n');
            let skipped = usize::try_from(next - first).unwrap_or(usize::MAX);
            for line in lines.skip(skipped) {
                if next == behind {
                    break;
                }
                let (letter, text) = line.split_at_checked(1).unwrap_or(("o", ""));
                show(next, letter.as_bytes()[0], text);
                next += 1;
            }
            while next < behind {
                show(next, b'n', "(this line cannot be shown here)");
                next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_by_their_numbers_and_memory_stays_small() {
        let mut blocks = Blocks::new(Store::default());
        for number in 0..100_000_u64 {
            blocks.push(b'o', &format!("line {number}"));
        }
        assert_eq!(blocks.lines(), 100_000);
        assert!(blocks.tail.capacity() <= 4 * BLOCK);
        assert!(blocks.full.len() > 30, "{}", blocks.full.len());
        for start in [0, 1, 2_500, 54_321, 99_990, 100_000, 200_000] {
            let mut found = Vec::new();
            blocks.each(start..start + 10, |number, letter, text| {
                assert_eq!((letter, text), (b'o', &*format!("line {number}")));
                found.push(number);
            });
            let expect: Vec<u64> = (start..start + 10).filter(|it| *it < 100_000).collect();
            assert_eq!(found, expect);
        }
        assert_eq!(blocks.block_of(0), 0);
        assert_eq!(blocks.block_of(99_999), blocks.full());
    }

    #[test]
    fn lost_lines_are_marked() {
        let mut blocks = Blocks::new(Store::default());
        for _ in 0..10_000 {
            blocks.push(b'o', "0123456789");
        }
        blocks.full[0].at = None;
        let mut found = Vec::new();
        blocks.each(0..2, |_, letter, text| {
            found.push((letter, text.to_owned()));
        });
        let lost = (b'n', "(this line cannot be shown here)".to_owned());
        assert_eq!(found, [lost.clone(), lost]);
    }
}
