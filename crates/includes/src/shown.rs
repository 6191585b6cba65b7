use std::fmt::{self, Write};

/// How many characters of a text are shown.
const LONGEST: usize = 300;

/// A text that a stranger may have written, as it can be shown: not endless, and without characters
/// that a terminal obeys.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, character) in self.0.chars().enumerate() {
            if number == LONGEST {
                return f.write_char('…');
            }
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_nothing_to_obey() {
        assert_eq!(
            Shown("a\u{e4} \u{1b}[2J\n").to_string(),
            "a\u{e4} \\u{1b}[2J\\n"
        );
        let long = Shown(&"x".repeat(301)).to_string();
        assert_eq!(long, format!("{}…", "x".repeat(300)));
    }
}
