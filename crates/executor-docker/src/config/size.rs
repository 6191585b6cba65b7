use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// An amount of memory in the format of docker's command line: `512m`, `1.5g`, or a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(i64);

impl Size {
    /// Any amount; for `memory_swap` alone.
    pub const UNLIMITED: Self = Self(-1);

    /// Returns an amount of bytes.
    pub const fn bytes(bytes: i64) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// A text that is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a size: write bytes, or a number with one of b, k, m, g, t behind it, like 512m"
)]
pub struct SizeError(String);

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let wrong = || SizeError(text.to_owned());
        let trimmed = text.trim();
        if trimmed == "-1" {
            return Ok(Self::UNLIMITED);
        }
        let end = trimmed
            .find(|it: char| !it.is_ascii_digit() && it != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(end);
        let power = power_of(&unit.trim_start().to_ascii_lowercase()).ok_or_else(wrong)?;
        thousandths(number)
            .and_then(|it| i128::from(it).checked_mul(1_i128 << (10 * power)))
            .and_then(|it| i64::try_from(it / 1000).ok())
            .map(Self)
            .ok_or_else(wrong)
    }
}

/// Returns the power of 1024 of a unit.
fn power_of(unit: &str) -> Option<u32> {
    Some(match unit {
        "" | "b" => 0,
        "k" | "kb" | "ki" | "kib" => 1,
        "m" | "mb" | "mi" | "mib" => 2,
        "g" | "gb" | "gi" | "gib" => 3,
        "t" | "tb" | "ti" | "tib" => 4,
        "p" | "pb" | "pi" | "pib" => 5,
        _ => return None,
    })
}

/// Parses a decimal number as thousandths; truncates finer digits.
fn thousandths(number: &str) -> Option<i64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    let whole: i64 = whole.parse().ok()?;
    whole.checked_mul(1000)?.checked_add(part.parse().ok()?)
}

/// A number of processors, with three decimals: `1.5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpus {
    thousandths: i64,
}

impl Cpus {
    /// Returns the number in the engine's unit, billionths of a processor.
    pub const fn nanos(self) -> i64 {
        self.thousandths * 1_000_000
    }
}

/// A text that is not a number of processors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a number of processors: write one like 2 or 0.5")]
pub struct CpusError(String);

impl FromStr for Cpus {
    type Err = CpusError;

    fn from_str(text: &str) -> Result<Self, CpusError> {
        // Far larger values would overflow the billionths.
        thousandths(text.trim())
            .filter(|it| (1..=1_000_000_000).contains(it))
            .map(|thousandths| Self { thousandths })
            .ok_or_else(|| CpusError(text.to_owned()))
    }
}

/// A value written as a text or as a number.
pub(super) struct TextOrNumber(pub(super) String);

impl<'de> Deserialize<'de> for TextOrNumber {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = TextOrNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E>(self, text: &str) -> Result<TextOrNumber, E> {
                Ok(TextOrNumber(text.to_owned()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<TextOrNumber, E> {
                Ok(TextOrNumber(number.to_string()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<TextOrNumber, E> {
                Ok(TextOrNumber(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<TextOrNumber, E> {
                Ok(TextOrNumber(number.to_string()))
            }
        }

        input.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = TextOrNumber::deserialize(input)?;
        text.0.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = TextOrNumber::deserialize(input)?;
        text.0.parse().map_err(D::Error::custom)
    }
}
