use crate::pattern::Pattern;
use std::fmt;

/// What an expression, or a part of it, yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// Nothing: a variable that is not defined, or `null`.
    Null,
    /// A boolean.
    Boolean(bool),
    /// The value of a variable, or a text in quotes.
    Text(&'v str),
    /// A regular expression.
    Pattern(&'v Pattern),
}

impl Value<'_> {
    /// Returns whether a rule of this value does not hold, and `!` of it is true: null, false and
    /// text of spaces alone.
    pub fn is_blank(self) -> bool {
        match self {
            Self::Null => true,
            Self::Boolean(flag) => !flag,
            Self::Text(text) => text.trim().is_empty(),
            Self::Pattern(_) => false,
        }
    }

    /// Returns whether `&&` and `||` take it for true; even empty text is.
    pub fn is_truthy(self) -> bool {
        !matches!(self, Self::Null | Self::Boolean(false))
    }
}

/// Shows the value as it could stand in an expression.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(flag) => write!(f, "{flag}"),
            Self::Text(text) if text.contains('"') && !text.contains('\'') => {
                write!(f, "'{text}'")
            }
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Pattern(pattern) => write!(f, "{pattern}"),
        }
    }
}
