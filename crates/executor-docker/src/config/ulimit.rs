use super::size::TextOrNumber;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::str::FromStr;

/// A limit of a process: `soft[:hard]`, where -1 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ulimit {
    /// The limit, which the process may raise.
    pub soft: i64,
    /// The maximum of the limit.
    pub hard: i64,
}

/// The names of the limits.
pub(super) const NAMES: [&str; 16] = [
    "as",
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "rttime",
    "sigpending",
    "stack",
];

/// A text that is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a limit: write one number, or two as in 1024:4096; -1 is no limit")]
pub struct UlimitError(String);

impl FromStr for Ulimit {
    type Err = UlimitError;

    fn from_str(text: &str) -> Result<Self, UlimitError> {
        let number = |it: &str| it.trim().parse().ok().filter(|it: &i64| *it >= -1);
        let (soft, hard) = text.split_once(':').unwrap_or((text, text));
        let limits = number(soft).zip(number(hard));
        limits
            .filter(|(soft, hard)| *hard == -1 || (*soft != -1 && soft <= hard))
            .map(|(soft, hard)| Self { soft, hard })
            .ok_or_else(|| UlimitError(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Ulimit {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = TextOrNumber::deserialize(input)?;
        text.0.parse().map_err(D::Error::custom)
    }
}
