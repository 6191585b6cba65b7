use super::PatternError;
use super::escape::{self, perl_class, push_literal};

/// The classes written as `[:name:]` inside brackets; all of them are ASCII.
const NAMED: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Reads the bracket at the start of `text`, writes it in the crate's grammar and returns its
/// length.
///
/// In RE2 brackets do not nest, and only `]`, `\`, `^`, `-` and `[:` are special in them;
/// everything else is escaped, because it may be special in the crate's grammar.
pub(super) fn translate(
    text: &str,
    offset: usize,
    out: &mut String,
) -> Result<usize, PatternError> {
    let mut at = 1;
    out.push('[');
    if text[at..].starts_with('^') {
        out.push('^');
        at += 1;
    }
    let first = at;
    loop {
        let rest = &text[at..];
        if rest.is_empty() {
            let error = PatternError::syntax(offset, "the bracket `[` is never closed");
            return Err(error.with_help("add a `]`, or write `\\[` for the character"));
        }
        if rest.starts_with(']') && at > first {
            out.push(']');
            return Ok(at + 1);
        }
        at += item(rest, offset + at, out)?;
    }
}

/// Writes one item of a bracket (a class, a character or a range) and returns its length.
fn item(text: &str, offset: usize, out: &mut String) -> Result<usize, PatternError> {
    if let Some((name, length)) = named(text) {
        if !NAMED.contains(&name.trim_start_matches('^')) || name.starts_with("^^") {
            let message = format!("the class `[:{name}:]` is not RE2 syntax");
            return Err(PatternError::syntax(offset, message));
        }
        out.push_str(&text[..length]);
        return Ok(length);
    }
    if let Some(letter) = text
        .strip_prefix('\\')
        .and_then(|behind| behind.chars().next())
    {
        if matches!(letter, 'p' | 'P') {
            let (class, length) = escape::unicode_class(text, offset)?;
            out.push_str(&class);
            return Ok(length);
        }
        if let Some(class) = perl_class(letter) {
            out.push_str(class);
            return Ok(2);
        }
    }
    let (low, length) = character(text, offset)?;
    push_literal(out, low);
    let rest = &text[length..];
    if !rest.starts_with('-') || rest.len() < 2 || rest[1..].starts_with(']') {
        return Ok(length);
    }
    let (high, high_length) = character(&rest[1..], offset + length + 1)?;
    if high < low {
        let range = &text[..length + 1 + high_length];
        let message = format!("the range `{range}` goes backwards");
        return Err(PatternError::syntax(offset, message));
    }
    out.push('-');
    push_literal(out, high);
    Ok(length + 1 + high_length)
}

/// Returns the name in `[:name:]` at the start of `text`, and the length of the whole.
fn named(text: &str) -> Option<(&str, usize)> {
    let (name, _) = text.strip_prefix("[:")?.split_once(":]")?;
    Some((name, name.len() + 4))
}

fn character(text: &str, offset: usize) -> Result<(char, usize), PatternError> {
    if text.starts_with('\\') {
        return escape::character(text, offset);
    }
    let literal = text
        .chars()
        .next()
        .expect("the caller checked that text is left");
    Ok((literal, literal.len_utf8()))
}
