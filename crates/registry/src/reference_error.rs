use std::fmt;

/// Why a text is not a reference to an image, and at which character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceError {
    text: String,
    position: usize,
    what: &'static str,
}

impl ReferenceError {
    /// Returns the error for the byte of `text` at `offset`.
    pub(crate) fn new(text: &str, offset: usize, what: &'static str) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let mut shown: String = text.chars().take(100).collect();
        if shown.len() < text.len() {
            shown.push_str("...");
        }
        Self {
            text: shown,
            position: before.chars().count() + 1,
            what,
        }
    }

    /// Returns the number of the wrong character, from 1.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a reference to an image: character {}: {}",
            self.text, self.position, self.what
        )
    }
}

impl std::error::Error for ReferenceError {}
