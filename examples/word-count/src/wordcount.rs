//! Counts lines, words and characters.

/// The counts of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub lines: usize,
    pub words: usize,
    pub characters: usize,
}

/// Counts the lines, words and characters of `text`.
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
    fn empty_text_counts_nothing() {
        assert_eq!(count(""), Counts::default());
    }

    #[test]
    fn any_white_space_separates_words() {
        assert_eq!(count("one two\tthree\nfour"), Counts { lines: 2, words: 4, characters: 18 });
    }

    #[test]
    fn characters_are_not_bytes() {
        assert_eq!(count("größe").characters, 5);
    }
}
