//! The parts in which large archives are transferred.

use std::ops::Range;

/// The size of a part, and of the largest archive that is transferred by one request.
pub(super) const PART: u64 = 16 << 20;

/// How many parts a bucket joins.
const MOST: u64 = 10_000;

/// Returns the parts of an archive: all of the same size, except for the last one.
pub(super) fn parts(size: u64) -> impl Iterator<Item = Range<u64>> + Clone {
    let part = PART.max(size.div_ceil(MOST));
    (0..size.div_ceil(part)).map(move |number| {
        let start = number * part;
        start..(start + part).min(size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_an_archive() {
        let check = |size: u64, count: usize, last: u64| {
            let parts: Vec<Range<u64>> = parts(size).collect();
            assert_eq!(parts.len(), count, "of {size}");
            let mut ends = parts.iter().map(|part| part.end);
            let starts = parts.iter().map(|part| part.start);
            assert!(ends.clone().zip(starts.skip(1)).all(|(a, b)| a == b));
            assert_eq!(ends.next_back().unwrap_or_default(), size);
            let length = parts.last().map_or(0, |part| part.end - part.start);
            assert_eq!(length, last, "of {size}");
        };
        check(0, 0, 0);
        check(1, 1, 1);
        check(PART, 1, PART);
        check(PART + 1, 2, 1);
        check(5 * PART, 5, PART);
        check(
            1 << 40,
            10_000,
            (1 << 40) - 9_999 * ((1_u64 << 40) / 10_000 + 1),
        );
    }
}
