use std::fmt::{self, Write};

/// The greatest number of characters that are shown.
const LONGEST: usize = 300;

/// An untrusted text, safe for terminals: limited in length, with control characters escaped.
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

/// A readable number of bytes.
pub(crate) struct Bytes(pub(crate) usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: usize = 1 << 20;
        if self.0 >= MIB && self.0.is_multiple_of(MIB) {
            write!(f, "{} MiB", self.0 / MIB)
        } else {
            write!(f, "{} bytes", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_mebibytes_are_shown_as_such() {
        let check = |bytes, expect: &str| assert_eq!(Bytes(bytes).to_string(), expect);
        check(16 << 20, "16 MiB");
        check((16 << 20) + 1, "16777217 bytes");
        check(1000, "1000 bytes");
        check(0, "0 bytes");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            Shown("a\u{e4} \u{1b}[2J\n").to_string(),
            "a\u{e4} \\u{1b}[2J\\n"
        );
        let long = Shown(&"x".repeat(301)).to_string();
        assert_eq!(long, format!("{}…", "x".repeat(300)));
    }
}
