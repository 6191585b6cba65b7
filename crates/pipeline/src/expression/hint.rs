//! Errors for text that is not a token, with the sign or word that was probably meant.

use super::ExpressionError;
use super::token::{Token, TokenKind, is_word};

/// Returns the error about the text at `at`, which is not a token.
pub(super) fn no_token(text: &str, at: usize, before: &[Token<'_>]) -> ExpressionError {
    let rest = &text[at..];
    let first = rest.chars().next().unwrap_or_default();
    match first {
        '"' | '\'' => unclosed_quote(text, at, first),
        '/' => no_pattern(rest, at),
        '$' => no_variable(rest, at),
        '%' => percent(rest, at),
        _ if first.is_alphanumeric() || matches!(first, '_' | '-' | '.') => {
            bare_word(rest, at, before)
        }
        _ => no_sign(rest, at, first, before),
    }
}

fn unclosed_quote(text: &str, at: usize, quote: char) -> ExpressionError {
    let error = |message: &str| ExpressionError::new(at..text.len(), message);
    if text[at + 1..].contains(quote) {
        let error = error("the text in quotes spans more than one line");
        return error.with_help("a text in quotes cannot contain a line break");
    }
    error("the text in quotes is never closed").with_help(format!("add a `{quote}`"))
}

fn no_pattern(rest: &str, at: usize) -> ExpressionError {
    let inner = &rest[1..];
    let (body, length) = match inner.split_once('/') {
        Some((body, _)) => (body, body.len() + 2),
        None => (inner, rest.len()),
    };
    let error = |message: &str| ExpressionError::new(at..at + length, message);
    if body.len() + 2 != length {
        let error = error("the regular expression is never closed");
        return error.with_help("add a `/`, or put quotes around text");
    }
    if body.is_empty() {
        let error = error("the regular expression is empty");
        return error.with_help("write `/.*/` for any text");
    }
    if body.ends_with('\\') {
        let error = error("the regular expression is never closed, because `\\/` is a slash in it");
        return error.with_help("write `[\\\\]` instead of a backslash at the end");
    }
    let words = "a regular expression of a single character is not recognized";
    // In brackets these would be literal, or mean something else.
    let is_sign = body.starts_with(['.', '^', '$', '|']);
    let longer = if is_sign {
        format!("/(?:{body})/")
    } else {
        format!("/[{body}]/")
    };
    error(words).with_help(format!("write `{longer}`"))
}

fn no_variable(rest: &str, at: usize) -> ExpressionError {
    let inner = &rest[1..];
    if let Some(inner) = inner.strip_prefix('{') {
        let length = inner.find('}').map_or(rest.len(), |end| end + 3);
        let name = &inner[..inner.find(|letter| !is_word(letter)).unwrap_or(inner.len())];
        let message = "variables have no braces here";
        return ExpressionError::new(at..at + length, message)
            .with_help(format!("write `${name}`"));
    }
    if inner.starts_with("[[") {
        let length = inner.find("]]").map_or(rest.len(), |end| end + 3);
        let message = "this is not an input";
        return ExpressionError::new(at..at + length, message)
            .with_help("write `$[[ inputs.NAME ]]`");
    }
    let error = ExpressionError::new(at..at + 1, "there is no variable name after `$`");
    match inner.chars().next() {
        Some('(') => error.with_help("commands cannot be run here"),
        _ => error.with_help("put text in quotes"),
    }
}

fn percent(rest: &str, at: usize) -> ExpressionError {
    let inner = &rest[1..];
    let name = inner.split(|letter| !is_word(letter)).next();
    let name = name.filter(|name| !name.is_empty() && inner[name.len()..].starts_with('%'));
    match name {
        Some(name) => {
            let range = at..at + name.len() + 2;
            let message = "variables have no percent signs here";
            ExpressionError::new(range, message).with_help(format!("write `${name}`"))
        }
        None => ExpressionError::new(at..at + 1, "`%` means nothing here"),
    }
}

/// Common wrong words, and the signs or words of expressions that they stand for.
const OTHER_WORDS: [(&str, &str); 6] = [
    ("and", "&&"),
    ("or", "||"),
    ("not", "!"),
    ("nil", "null"),
    ("none", "null"),
    ("undefined", "null"),
];

fn bare_word(rest: &str, at: usize, before: &[Token<'_>]) -> ExpressionError {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-./:@".contains(letter);
    let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    let word = &rest[..length];
    let error = |message: String| ExpressionError::new(at..at + length, message);
    let follows_pattern = before
        .last()
        .is_some_and(|token| matches!(token.kind, TokenKind::Pattern(_)) && token.range.end == at);
    if follows_pattern {
        let error = error(format!("`{word}` follows a regular expression directly"));
        return error.with_help("write a slash in it as `\\/`; its flags are i, s, m and U");
    }
    let lower = word.to_lowercase();
    let message = format!("the word `{word}` has no quotes");
    if let Some((_, sign)) = OTHER_WORDS.iter().find(|(known, _)| *known == lower) {
        return error(message).with_help(format!("write `{sign}`"));
    }
    if matches!(&*lower, "true" | "false" | "null") && lower != word {
        return error(message).with_help(format!("write `{lower}`"));
    }
    let is_name = word.contains('_')
        && word
            .chars()
            .all(|letter| is_word(letter) && !letter.is_ascii_lowercase());
    let variable = if is_name {
        format!(", or `${word}` for a variable")
    } else {
        String::new()
    };
    error(message).with_help(format!("put quotes around it: `\"{word}\"`{variable}"))
}

/// Common wrong signs, and the right ones; a longer sign precedes its prefixes.
const OTHER_SIGNS: [(&str, &str); 9] = [
    ("=>", "=="),
    ("=", "=="),
    ("&", "&&"),
    ("|", "||"),
    ("~=", "=~"),
    ("~", "=~"),
    ("<>", "!="),
    ("<", "=="),
    (">", "=="),
];

fn no_sign(rest: &str, at: usize, first: char, before: &[Token<'_>]) -> ExpressionError {
    let found = OTHER_SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
    let Some((sign, right)) = found else {
        let message = format!("`{first}` means nothing here");
        return ExpressionError::new(at..at + first.len_utf8(), message)
            .with_help("put quotes around text");
    };
    let error = |message: String| ExpressionError::new(at..at + sign.len(), message);
    let previous = before.last().filter(|token| token.range.end == at);
    let previous = previous.map(|token| token.kind);
    if matches!(*sign, "<" | ">") {
        let error = error(format!("`{sign}` means nothing here"));
        return error.with_help("numbers cannot be compared; use `==`, `!=`, `=~` or `!~`");
    }
    let right = match (previous, *sign) {
        (Some(TokenKind::Comparison(operator)), "=") => operator.sign(),
        (Some(TokenKind::Comparison(_)), "~") => "!~",
        (Some(TokenKind::Both), "&") => "&&",
        (Some(TokenKind::Either), "|") => "||",
        _ => right,
    };
    error(format!("`{sign}` means nothing here")).with_help(format!("write `{right}`"))
}
