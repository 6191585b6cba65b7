//! Values as text in Ruby's notation, which is what a job receives when a list is inside a longer
//! string.

use std::fmt::Write as _;
use yaml::{Kind, Node};

/// The maximum length, in bytes, of a value's text form and of an interpolated text.
pub(super) const LONGEST_TEXT: usize = 8 << 20;

/// Returns the text form of a value; `None` when it is too long.
pub(super) fn text_of(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Null => Some(String::new()),
        Kind::String(text) => Some(text.to_string()),
        _ => {
            let mut out = String::new();
            write_value(node, &mut out)?;
            Some(out)
        }
    }
}

fn write_value(node: &Node, out: &mut String) -> Option<()> {
    match &node.kind {
        Kind::Null => out.push_str("nil"),
        Kind::String(text) => write_quoted(text, out),
        Kind::Sequence(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_value(item, out)?;
            }
            out.push(']');
        }
        Kind::Mapping(entries) => {
            out.push('{');
            for (at, (key, entry)) in entries.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_symbol(key, out);
                out.push_str("=>");
                write_value(&entry.value, out)?;
            }
            out.push('}');
        }
        Kind::Reference(path) => {
            let _ = write!(out, "!reference {path:?}");
        }
        Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => {
            out.push_str(&node.to_scalar_text().unwrap_or_default());
        }
    }
    (out.len() <= LONGEST_TEXT).then_some(())
}

/// Writes a key, which is quoted unless it is a plain name.
fn write_symbol(key: &str, out: &mut String) {
    let is_plain = key.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !key.starts_with(|c: char| c.is_ascii_digit())
        && !key.is_empty();
    out.push(':');
    if is_plain {
        out.push_str(key);
    } else {
        write_quoted(key, out);
    }
}

fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\u{1b}' => out.push_str("\\e"),
            '#' if matches!(characters.peek(), Some('{' | '$' | '@')) => out.push_str("\\#"),
            '\u{7f}' => out.push_str("\\x7F"),
            character if character.is_ascii_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use yaml::{Limits, LoadedFile};

    fn check(yaml: &str, expect: &str) {
        let loaded = LoadedFile::from_text("f", &format!("v: {yaml}"), &Limits::default());
        let content = loaded.value.unwrap().content;
        let text = text_of(content.get("v").unwrap());
        assert_eq!(text.as_deref(), Some(expect), "the text of {yaml}");
    }

    #[test]
    fn values_are_written_in_the_notation_of_ruby() {
        check("12", "12");
        check("1.50", "1.5");
        check("yes", "true");
        check("~", "");
        check("a b", "a b");
        check("[a, 1, ~, [true]]", r#"["a", 1, nil, [true]]"#);
        check("{a: 1, b-c: x}", r#"{:a=>1, :"b-c"=>"x"}"#);
        check(
            r##"["q\"b\\s\nn\e", "#{x} #y", "é"]"##,
            r#"["q\"b\\s\nn\e", "\#{x} #y", "é"]"#,
        );
    }
}
