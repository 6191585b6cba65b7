//! The masked regions of a stream, and the output of settled text.

use std::ops::Range;

/// The text in place of masked text.
pub(crate) const MASK: &[u8] = b"[MASKED]";

/// The available bytes of a stream: the end of earlier input, and the input that starts at `base`.
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

pub(crate) fn distance(from: u64, to: u64) -> usize {
    usize::try_from(to - from).expect("the text at hand fits into memory")
}

/// The masked regions of one stream, in absolute positions.
#[derive(Default)]
pub(crate) struct Cover {
    /// Everything before this position is written.
    written: u64,
    /// The end of the last written region, which may still grow.
    open: u64,
    /// The regions that are not written yet, ascending and separate.
    pending: Vec<Range<u64>>,
}

impl Cover {
    /// Masks `range`, and joins it with the regions that overlap it.
    ///
    /// Written text stays as it is.
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

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Writes the text before `settled`. No region added later may start before it.
    pub(crate) fn write(&mut self, settled: u64, source: &Source<'_>, out: &mut Vec<u8>) {
        // The start of a region at the settled position is final; its end does not affect the replacement text.
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

    /// Marks the first `length` bytes from `base` on as written, if no earlier text is pending and none of them is
    /// masked. Returns whether it did.
    pub(crate) fn skip(&mut self, base: u64, length: usize) -> bool {
        let clear = self.pending.is_empty() && self.written == base;
        if clear {
            self.written += length as u64;
        }
        clear
    }

    /// Returns the number of bytes before `position` that are neither written nor masked for good.
    pub(crate) fn owed_before(&self, position: u64) -> usize {
        distance(self.written.min(position), position)
    }
}
