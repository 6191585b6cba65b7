use std::fmt;

/// An integer of a pipeline file.
///
/// It is stored in two halves, because an `i128` would raise the alignment, and thus the size, of
/// every node to a multiple of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer {
    high: i64,
    low: u64,
}

impl Integer {
    /// Returns the number.
    pub fn value(self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }
}

impl<N: Into<i128>> From<N> for Integer {
    fn from(number: N) -> Self {
        let bytes = number.into().to_be_bytes();
        let (halves, _) = bytes.as_chunks();
        Self {
            high: i64::from_be_bytes(halves[0]),
            low: u64::from_be_bytes(halves[1]),
        }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_is_lossless() {
        for number in [0, 1, -1, i128::from(u64::MAX), i128::MIN, i128::MAX] {
            assert_eq!(Integer::from(number).value(), number);
        }
        assert_eq!(Integer::from(-7).to_string(), "-7");
    }
}
