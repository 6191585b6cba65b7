//! The quick look that skips text in which no pattern begins.

/// Bytes of one block; shorter only if a pattern is shorter.
const BLOCK: usize = 3;
/// Bytes that one look at a block loads.
const LOAD: usize = 4;
/// Blocks looked at in one go.
const LOOKS: usize = 8;
/// Blocks further apart gain nothing and fill the table.
const MAX_STRIDE: usize = 8;
/// Number of different block hashes.
const SLOTS: usize = 1 << 16;

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
/// makes this several times faster than walking the automaton. The table also knows at
/// which places in a pattern a block occurs, so a hit is compared with its neighbours
/// and most hits by chance are found out.
pub(crate) struct Prefilter {
    stride: usize,
    /// Spreads the bytes of a block over the table; the bytes behind it fall out.
    multiplier: u32,
    /// Bit `n` says that the block occurs `n` bytes behind the start of a pattern.
    places: Box<[u8; SLOTS]>,
}

impl Prefilter {
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = (&'a [u8], Case)> + Clone) -> Self {
        let shortest = patterns.clone().map(|(bytes, _)| bytes.len()).min();
        let shortest = shortest.unwrap_or(BLOCK + MAX_STRIDE - 1).max(1);
        let block = shortest.min(BLOCK);
        let mut prefilter = Self {
            stride: (shortest - block + 1).min(MAX_STRIDE),
            multiplier: 0x9E37_79B1 << (32 - 8 * block),
            places: vec![0; SLOTS].try_into().expect("the length is SLOTS"),
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
            self.places[slot] |= 1 << place;
        }
    }

    #[inline]
    fn slot(&self, load: [u8; LOAD]) -> usize {
        (u32::from_le_bytes(load).wrapping_mul(self.multiplier) >> 16) as usize
    }

    /// Returns where in a pattern the block at `at` can stand, no bit for nowhere.
    #[inline]
    fn places(&self, text: &[u8], at: usize) -> u8 {
        // One load of four bytes; byte by byte it takes four.
        let load = text[at..].first_chunk().expect("the caller looked");
        self.places[self.slot(*load)]
    }

    /// Returns how many places from a candidate on the next look can start.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the memory that the sieve has taken, in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.places)
    }

    /// Returns a place at or after `from` before which no pattern begins.
    ///
    /// All of the text behind `from` must be here; the last few bytes are always left
    /// to the automaton.
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
                hits |= self.places(window, look * STRIDE);
            }
            if hits != 0 {
                for look in 0..LOOKS {
                    if self.places(window, look * STRIDE) != 0
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

    /// Returns the first place from `from` on at which a pattern can begin whose block
    /// lies at `at`.
    #[inline(never)]
    fn confirm(&self, text: &[u8], at: usize, from: usize) -> Option<usize> {
        let places = self.places(text, at);
        let possible = (0..self.stride)
            .rev()
            .filter(|place| places & (1 << place) != 0);
        let mut starts = possible.map(|place| at - place);
        starts.find(|start| *start >= from && self.is_possible(text, *start))
    }

    /// Compares all blocks that a pattern beginning at `start` would begin with.
    fn is_possible(&self, text: &[u8], start: usize) -> bool {
        (0..self.stride).all(|place| {
            let at = start + place;
            // The end of the text decides nothing.
            at + LOAD > text.len() || self.places(text, at) & (1 << place) != 0
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
