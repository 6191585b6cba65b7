//! Words of command lines that people copy.

use super::is_direction;

/// Returns `text` as a shell reads it back; plain words stay as they are.
pub fn shell_quoted(text: &str) -> String {
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
pub fn shell_argument(text: &str) -> String {
    let text = shell_quoted(text);
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

/// Returns whether a process can have a variable of this name, and a shell can read it.
pub fn is_variable_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    starts_well && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(shell_quoted("unit-tests"), "unit-tests");
        assert_eq!(shell_quoted("test 1/2"), "'test 1/2'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
        assert_eq!(shell_argument("-x"), "-- -x");
        assert_eq!(shell_argument("x-"), "x-");
        assert_eq!(shell_quoted("a\u{202e}\u{e9}b"), "$'a\\u202e\u{e9}b'");
        assert_eq!(shell_quoted("red\u{1b}[31m's\\"), r"$'red\u001b[31m\'s\\'");
    }
}
