//! Counts lines, words and characters.

/// What was counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub lines: usize,
    pub words: usize,
    pub characters: usize,
}

/// Counts what `text` holds.
pub fn count(text: &str) -> Counts {
    Counts {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_has_nothing() {
        assert_eq!(count(""), Counts::default());
    }

    #[test]
    fn words_are_told_apart_by_any_white_space() {
        assert_eq!(count("one two\tthree\nfour"), Counts { lines: 2, words: 4, characters: 18 });
    }

    #[test]
    fn characters_are_not_bytes() {
        assert_eq!(count("größe").characters, 5);
    }
}
