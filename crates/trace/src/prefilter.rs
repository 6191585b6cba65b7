//! A fast filter that skips text without patterns.

/// The size of a block; smaller only if a pattern is.
const BLOCK: usize = 3;
/// The number of bytes loaded for one block.
const LOAD: usize = 4;
/// The number of blocks checked in one iteration.
const LOOKS: usize = 8;
/// The largest distance of blocks; larger ones gain nothing and fill the table.
const MAX_STRIDE: usize = 8;
/// The number of different block hashes.
const SLOTS: usize = 1 << 16;

/// Whether a pattern matches in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Exact,
    Ignored,
}

/// A sieve over blocks at fixed distances.
///
/// With patterns of at least `m` bytes and blocks of `b`, one of any `m - b + 1` neighbouring blocks of an occurrence is
/// at a multiple of that distance, within the first `m` bytes. So only every such block is looked up in a table of the
/// blocks at the start of patterns. The lookups are independent of one another, which makes this several times faster
/// than the automaton. The table also has the positions of a block in patterns, so a hit is compared with its neighbours,
/// which rejects most accidental hits.
pub(crate) struct Prefilter {
    stride: usize,
    /// Spreads the bytes of a block over the table and drops the bytes after it.
    multiplier: u32,
    /// Bit `n` means that the block occurs `n` bytes after the start of a pattern.
    positions: Box<[u8; SLOTS]>,
}

impl Prefilter {
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = (&'a [u8], Case)> + Clone) -> Self {
        let shortest = patterns.clone().map(|(bytes, _)| bytes.len()).min();
        let shortest = shortest.unwrap_or(BLOCK + MAX_STRIDE - 1).max(1);
        let block = shortest.min(BLOCK);
        let mut prefilter = Self {
            stride: (shortest - block + 1).min(MAX_STRIDE),
            multiplier: 0x9E37_79B1 << (32 - 8 * block),
            positions: vec![0; SLOTS].try_into().expect("the length is SLOTS"),
        };
        for (bytes, case) in patterns {
            let blocks = bytes.windows(block).take(prefilter.stride);
            for (place, block) in blocks.enumerate() {
                prefilter.insert(block, place, case);
            }
        }
        prefilter
    }

    fn insert(&mut self, block: &[u8], place: usize, case: Case) {
        let foldings = match case {
            Case::Exact => 1,
            Case::Ignored => 1_u8 << block.len(),
        };
        for folding in 0..foldings {
            let mut load = [0; LOAD];
            for (index, byte) in block.iter().enumerate() {
                load[index] = if folding & (1 << index) == 0 {
                    *byte
                } else {
                    byte.to_ascii_uppercase()
                };
            }
            let slot = self.slot(load);
            self.positions[slot] |= 1 << place;
        }
    }

    #[inline]
    fn slot(&self, load: [u8; LOAD]) -> usize {
        (u32::from_le_bytes(load).wrapping_mul(self.multiplier) >> 16) as usize
    }

    /// Returns the positions in a pattern that the block at `at` can have, as bits.
    #[inline]
    fn positions(&self, text: &[u8], at: usize) -> u8 {
        // One load of four bytes instead of four loads.
        let load = text[at..].first_chunk().expect("the caller looked");
        self.positions[self.slot(*load)]
    }

    /// Returns the distance from a candidate to the next possible one.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the memory use of the sieve in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.positions)
    }

    /// Returns a position at or after `from` before which no pattern starts.
    ///
    /// All text after `from` must be available; the last few bytes are always left to the automaton.
    pub(crate) fn candidate(&self, text: &[u8], from: usize) -> usize {
        // The distance is a constant in each loop, so that the compiler can unroll it.
        match self.stride {
            1 => self.scan::<1>(text, from),
            2 => self.scan::<2>(text, from),
            3 => self.scan::<3>(text, from),
            4 => self.scan::<4>(text, from),
            5 => self.scan::<5>(text, from),
            6 => self.scan::<6>(text, from),
            7 => self.scan::<7>(text, from),
            _ => self.scan::<8>(text, from),
        }
    }

    fn scan<const STRIDE: usize>(&self, text: &[u8], from: usize) -> usize {
        let mut at = from + STRIDE - 1;
        while let Some(window) = text.get(at..at + (LOOKS - 1) * STRIDE + LOAD) {
            let mut hits = 0;
            for look in 0..LOOKS {
                hits |= self.positions(window, look * STRIDE);
            }
            if hits != 0 {
                for look in 0..LOOKS {
                    if self.positions(window, look * STRIDE) != 0
                        && let Some(start) = self.confirm(text, at + look * STRIDE, from)
                    {
                        return start;
                    }
                }
            }
            at += LOOKS * STRIDE;
        }
        while at + LOAD <= text.len() {
            if let Some(start) = self.confirm(text, at, from) {
                return start;
            }
            at += STRIDE;
        }
        at + 1 - STRIDE
    }

    /// Returns the first position from `from` on at which a pattern with its block at `at` can start.
    #[inline(never)]
    fn confirm(&self, text: &[u8], at: usize, from: usize) -> Option<usize> {
        let positions = self.positions(text, at);
        let possible = (0..self.stride)
            .rev()
            .filter(|place| positions & (1 << place) != 0);
        let mut starts = possible.map(|place| at - place);
        starts.find(|start| *start >= from && self.is_possible(text, *start))
    }

    /// Compares all blocks of a pattern that starts at `start`.
    fn is_possible(&self, text: &[u8], start: usize) -> bool {
        (0..self.stride).all(|place| {
            let at = start + place;
            // Blocks beyond the end of the text do not count.
            at + LOAD > text.len() || self.positions(text, at) & (1 << place) != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_skips_an_occurrence() {
        for pattern in ["a", "ab", "abc", "abcd", "abcdefgh", "abcdefghijklmnopqrst"] {
            let prefilter = Prefilter::new([(pattern.as_bytes(), Case::Exact)].into_iter());
            for place in 0..64 {
                let text = format!("{}{pattern}{}", ".".repeat(place), "-".repeat(20));
                for from in 0..=place {
                    assert!(prefilter.candidate(text.as_bytes(), from) <= place);
                }
            }
        }
    }

    #[test]
    fn skips_text_without_patterns() {
        let prefilter = Prefilter::new([(&b"abcdefgh"[..], Case::Exact)].into_iter());
        assert!(prefilter.candidate(&[b'.'; 1000], 0) > 980);
    }

    #[test]
    fn case_is_ignored_on_request() {
        let prefilter = Prefilter::new([(&b"?rss_token="[..], Case::Ignored)].into_iter());
        let text = format!("{}?rSS_toKEN=x{}", ".".repeat(40), ".".repeat(40));
        assert!(prefilter.candidate(text.as_bytes(), 0) <= 40);
    }
}
