use std::fmt;

/// A whole number of a pipeline file.
///
/// It is kept in halves: a number of 16 bytes asks to lie at a multiple of 16, and then so would each
/// node, most of which are none.
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
    fn a_number_is_what_it_was_made_of() {
        for number in [0, 1, -1, i128::from(u64::MAX), i128::MIN, i128::MAX] {
            assert_eq!(Integer::from(number).value(), number);
        }
        assert_eq!(Integer::from(-7).to_string(), "-7");
    }
}
