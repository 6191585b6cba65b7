//! Which parts of a stream are hidden, and the writing of what is settled.

use std::ops::Range;

/// What stands in the log for hidden text.
pub(crate) const MASK: &[u8] = b"[MASKED]";

/// The bytes of a stream that are still at hand: the end of what came before, and
/// the input that starts at `base`.
pub(crate) struct Source<'a> {
    pub(crate) carry: &'a [u8],
    pub(crate) base: u64,
    pub(crate) input: &'a [u8],
}

impl Source<'_> {
    fn copy(&self, range: Range<u64>, out: &mut Vec<u8>) {
        if range.start < self.base {
            let first = self.carry.len() - distance(range.start, self.base);
            let last = self.carry.len() - distance(range.end.min(self.base), self.base);
            out.extend_from_slice(&self.carry[first..last]);
        }
        if range.end > self.base {
            let first = distance(self.base, range.start.max(self.base));
            out.extend_from_slice(&self.input[first..distance(self.base, range.end)]);
        }
    }
}

fn distance(from: u64, to: u64) -> usize {
    usize::try_from(to - from).expect("the text at hand fits into memory")
}

/// The hidden regions of one stream, in absolute positions.
#[derive(Default)]
pub(crate) struct Cover {
    /// Everything before is written.
    written: u64,
    /// End of the region that was written last; it may still grow.
    open: u64,
    /// Regions still to be written, ascending, apart from one another.
    pending: Vec<Range<u64>>,
}

impl Cover {
    /// Hides `range`, joining it with the regions that share a byte with it.
    ///
    /// What is already written stays so.
    #[inline]
    pub(crate) fn hide(&mut self, mut range: Range<u64>) {
        while let Some(last) = self.pending.pop_if(|last| last.end > range.start) {
            range.start = range.start.min(last.start);
            range.end = range.end.max(last.end);
        }
        if range.start < self.open {
            self.open = self.open.max(range.end);
            self.written = self.written.max(range.end);
            return;
        }
        range.start = range.start.max(self.written);
        if !range.is_empty() {
            self.pending.push(range);
        }
    }

    /// Hides the last `length` bytes before `end`.
    pub(crate) fn hide_before(&mut self, end: u64, length: u32) {
        if length > 0 {
            self.hide(end - u64::from(length)..end);
        }
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Writes the text before `settled`. No region added later may start before it.
    pub(crate) fn write(&mut self, settled: u64, source: &Source<'_>, out: &mut Vec<u8>) {
        // A region that starts at the settled place has its beginning for good; where it
        // ends does not matter for what stands in its place.
        let count = self
            .pending
            .partition_point(|region| region.start <= settled);
        for region in self.pending.drain(..count) {
            source.copy(self.written..region.start, out);
            out.extend_from_slice(MASK);
            self.written = region.end;
            self.open = region.end;
        }
        if self.written < settled {
            source.copy(self.written..settled, out);
            self.written = settled;
        }
    }

    /// Counts the first `length` bytes from `base` on as written, if they are neither
    /// preceded by anything owed nor hidden in part. Returns whether it did.
    pub(crate) fn skip(&mut self, base: u64, length: usize) -> bool {
        let clear = self.pending.is_empty() && self.written == base;
        if clear {
            self.written += length as u64;
        }
        clear
    }

    /// Returns how many bytes before `position` are neither written nor hidden for good.
    pub(crate) fn owed_before(&self, position: u64) -> usize {
        distance(self.written.min(position), position)
    }
}
