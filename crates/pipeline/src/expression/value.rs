use crate::pattern::Pattern;
use std::fmt;

/// The value of an expression or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// `null`, or the value of an undefined variable.
    Null,
    /// A boolean.
    Boolean(bool),
    /// The value of a variable, or a text in quotes.
    Text(&'v str),
    /// A regular expression.
    Pattern(&'v Pattern),
}

impl Value<'_> {
    /// Returns whether a condition with this value is false, and `!` of it true: null, false, and
    /// text of white space alone.
    pub fn is_blank(self) -> bool {
        match self {
            Self::Null => true,
            Self::Boolean(flag) => !flag,
            Self::Text(text) => text.trim().is_empty(),
            Self::Pattern(_) => false,
        }
    }

    /// Returns whether `&&` and `||` treat it as true; even empty text is.
    pub fn is_truthy(self) -> bool {
        !matches!(self, Self::Null | Self::Boolean(false))
    }
}

/// Shows the value in the notation of expressions.
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
