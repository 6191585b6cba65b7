//! The quick look that skips text in which no pattern begins.

/// Bytes of one block; shorter only if a pattern is shorter.
const BLOCK: usize = 3;
/// Bytes that one look at a block loads.
const LOAD: usize = 4;
/// Blocks further apart gain nothing and fill the table.
const MAX_STRIDE: usize = 8;
/// The table has 2^16 bits, 8 KiB: it stays in the first-level cache.
const WORDS: usize = 1024;

/// Whether a pattern is met in any case of its letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Exact,
    Ignored,
}

/// A sieve over blocks at fixed distances.
///
/// With patterns of at least `m` bytes and blocks of `b`, one of any `m - b + 1`
/// neighbouring blocks of an occurrence lies at a multiple of that distance, within
/// the first `m` bytes. So only every such block is looked up in a table of the
/// blocks that patterns begin with. The looks do not depend on one another, which
/// makes this several times faster than walking the automaton.
pub(crate) struct Prefilter {
    stride: usize,
    mask: u32,
    table: Box<[u64; WORDS]>,
}

impl Prefilter {
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = (&'a [u8], Case)> + Clone) -> Self {
        let shortest = patterns.clone().map(|(bytes, _)| bytes.len()).min();
        let shortest = shortest.unwrap_or(BLOCK + MAX_STRIDE - 1).max(1);
        let block = shortest.min(BLOCK);
        let mut prefilter = Self {
            stride: (shortest - block + 1).min(MAX_STRIDE),
            mask: u32::MAX >> (32 - 8 * block),
            table: Box::new([0; WORDS]),
        };
        for (bytes, case) in patterns {
            for block in bytes.windows(block).take(prefilter.stride) {
                prefilter.insert(block, case);
            }
        }
        prefilter
    }

    fn insert(&mut self, block: &[u8], case: Case) {
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
            self.table[slot >> 6] |= 1 << (slot & 63);
        }
    }

    #[inline]
    fn slot(&self, load: [u8; LOAD]) -> usize {
        let block = u32::from_le_bytes(load) & self.mask;
        (block.wrapping_mul(0x9E37_79B1) >> 16) as usize
    }

    #[inline]
    fn hit(&self, window: &[u8], at: usize) -> u64 {
        let slot = self.slot([window[at], window[at + 1], window[at + 2], window[at + 3]]);
        (self.table[slot >> 6] >> (slot & 63)) & 1
    }

    /// Returns how many places from a candidate on the next look can start.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns a place at or after `from` before which no pattern begins.
    ///
    /// All of the text behind `from` must be here; the last few bytes are always left
    /// to the automaton.
    pub(crate) fn candidate(&self, text: &[u8], from: usize) -> usize {
        let stride = self.stride;
        let mut at = from + stride - 1;
        while let Some(window) = text.get(at..at + 3 * stride + LOAD) {
            let hits = self.hit(window, 0)
                | self.hit(window, stride)
                | self.hit(window, 2 * stride)
                | self.hit(window, 3 * stride);
            if hits != 0 {
                break;
            }
            at += 4 * stride;
        }
        while let Some(window) = text.get(at..at + LOAD) {
            if self.hit(window, 0) != 0 {
                break;
            }
            at += stride;
        }
        at + 1 - stride
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
    fn case_is_ignored_where_asked() {
        let prefilter = Prefilter::new([(&b"?rss_token="[..], Case::Ignored)].into_iter());
        let text = format!("{}?rSS_toKEN=x{}", ".".repeat(40), ".".repeat(40));
        assert!(prefilter.candidate(text.as_bytes(), 0) <= 40);
    }
}
