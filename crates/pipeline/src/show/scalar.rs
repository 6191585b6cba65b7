use std::fmt::Write as _;
use yaml::reads_as_text;

/// Returns text as a value or key on one line, quoted if any YAML reader could read it as something
/// else.
pub(super) fn inline(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let escapes = text.chars().any(must_escape);
    if !escapes && text.contains(['"', '\\']) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            character if must_escape(character) => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted + "\""
}

/// Returns text of several lines as the header and lines of a literal block, if it can be one.
pub(super) fn block(text: &str) -> Option<(&'static str, Vec<&str>)> {
    let body = text.trim_end_matches('\n');
    let breaks = text.len() - body.len();
    let first_fits = !text.starts_with([' ', '\n', '\t']);
    // Readers drop lines of blanks alone.
    let can_be_block = text.contains('\n')
        && !body.is_empty()
        && first_fits
        && !body
            .split('\n')
            .any(|line| !line.is_empty() && line.trim().is_empty())
        && !text
            .chars()
            .any(|c| c != '\n' && c != '\t' && must_escape(c));
    if !can_be_block {
        return None;
    }
    let header = match breaks {
        0 => "|-",
        1 => "|",
        _ => "|+",
    };
    let mut lines: Vec<&str> = body.split('\n').collect();
    lines.extend(std::iter::repeat_n("", breaks.saturating_sub(1)));
    Some((header, lines))
}

/// Returns whether the text needs no quotes in any version of YAML.
fn is_plain(text: &str) -> bool {
    let first_fits = |c: char| {
        c.is_alphabetic()
            || matches!(c, '_' | '.' | '/' | '$' | '(' | '^' | '~')
            || (c.is_ascii_digit() && cannot_be_number(text))
    };
    let Some(first) = text.chars().next() else {
        return false;
    };
    let looks_like_number = first == '.' && text[1..].starts_with(|c: char| c.is_ascii_digit());
    first_fits(first)
        && !looks_like_number
        && !matches!(text, "y" | "n" | "Y" | "N" | "~")
        && !text.starts_with("..")
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
        && !text.chars().any(must_escape)
        && reads_as_text(text)
}

/// Returns whether no reader can read the text as a number or a time, because it has a letter that
/// occurs in neither.
fn cannot_be_number(text: &str) -> bool {
    let letters = |c: char| c.is_alphabetic() && !"abcdefABCDEFxXoOtTzZ".contains(c);
    text.contains(letters)
}

/// Returns whether the character needs an escape: it would end the line, control a terminal, or not
/// be accepted by all readers.
fn must_escape(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_text_is_quoted() {
        let check = |text: &str, expect: &str| assert_eq!(inline(text), expect, "of {text:?}");
        for plain in [
            "make test",
            ".pre",
            "$CI_COMMIT_TAG",
            "a:b",
            "src/**/*.rs",
            "é",
            "C#",
        ] {
            check(plain, plain);
        }
        for quoted in [
            "",
            "yes",
            "No",
            "on",
            "y",
            "null",
            "~",
            "true",
            "0755",
            "12:30",
            "2024-01-02",
            "1e3",
            "08",
            "-x",
            "- a",
            "a: b",
            "a #b",
            "a:",
            " a",
            "a ",
            "*x",
            "&x",
            "!t",
            "|",
            "{a",
            "<<",
            "=",
            ".5",
            ".inf",
            "...",
            "@a",
            "%a",
            "'a'",
        ] {
            check(quoted, &format!("\"{quoted}\""));
        }
        check(r#"-"a""#, r#"'-"a"'"#);
        check(r#"it's "-" \ # : "#, r#"'it''s "-" \ # : '"#);
        check("\u{1b}[31m\ta\r\n", "\"\\u001B[31m\\ta\\r\\n\"");
        check("a\u{85}\u{202e}", "\"a\\u0085\\u202E\"");
    }

    #[test]
    fn text_of_several_lines_is_a_literal_block_if_possible() {
        let header = |text| block(text).map(|(header, _)| header);
        assert_eq!(header("a\nb"), Some("|-"));
        assert_eq!(header("a\n\n  b\n"), Some("|"));
        assert_eq!(block("a\n\n"), Some(("|+", vec!["a", ""])));
        for other in ["a", "\n", "\na", " a\nb", "a\n \nb", "a\r\nb", "a\u{7}\nb"] {
            assert_eq!(header(other), None, "of {other:?}");
        }
    }
}
