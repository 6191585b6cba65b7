//! Words of command lines that people copy.

use crate::is_direction;

/// Returns `text` as a shell reads it back; plain words stay as they are.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if text.chars().any(misleads) {
        // The form that keeps such characters out of the terminal; bash and zsh read it.
        let escaped: String = text.chars().map(escaped).collect();
        return format!("$'{escaped}'");
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns `text` as a word behind which nothing follows, and that is no option though it begins with a
/// dash.
pub fn word(text: &str) -> String {
    let text = quoted(text);
    if text.starts_with('-') {
        format!("-- {text}")
    } else {
        text
    }
}

/// Returns whether the character would act on a terminal, or show a line in another order.
fn misleads(c: char) -> bool {
    c.is_control() || is_direction(c)
}

fn escaped(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if misleads(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("unit-tests"), "unit-tests");
        assert_eq!(quoted("test 1/2"), "'test 1/2'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(word("-x"), "-- -x");
        assert_eq!(word("x-"), "x-");
        assert_eq!(quoted("a\u{202e}\u{e9}b"), "$'a\\u202e\u{e9}b'");
        assert_eq!(quoted("red\u{1b}[31m's\\"), r"$'red\u001b[31m\'s\\'");
    }
}
