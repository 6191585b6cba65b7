use regex::{Regex, RegexBuilder};

/// A pattern of names, with the rules of Go's package doublestar.
///
/// `*` matches characters except a slash, `**` between slashes any characters, `?` one character, `[a-z]` one of a set,
/// `{a,b}` one of several texts; a backslash escapes the next character.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
}

/// A text that is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a pattern: {reason}")]
pub struct PatternError {
    text: String,
    reason: &'static str,
}

/// The length limit; names are far shorter.
const LONGEST: usize = 4096;

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// When a bracket or brace is not closed, or the pattern is too long.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let wrong = |reason| PatternError {
            text: text.chars().take(80).collect(),
            reason,
        };
        if text.len() > LONGEST {
            return Err(wrong("it is too long"));
        }
        let source = expression(text).map_err(wrong)?;
        let regex = RegexBuilder::new(&source)
            .dot_matches_new_line(true)
            .size_limit(4 << 20)
            .build()
            .map_err(|_| wrong("a set of characters is wrong"))?;
        Ok(Self { regex })
    }

    /// Returns whether the pattern matches the whole `name`.
    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }
}

fn expression(text: &str) -> Result<String, &'static str> {
    let mut regex = String::from("^(?:");
    let mut rest = text.chars().peekable();
    let mut depth = 0_usize;
    let mut before = '/';
    while let Some(next) = rest.next() {
        let begins = std::mem::replace(&mut before, next) == '/';
        match next {
            '*' => {
                let mut double = false;
                while rest.next_if_eq(&'*').is_some() {
                    double = true;
                }
                // Between slashes, `**` matches any number of names, including none.
                let any = match (double && begins, rest.peek()) {
                    (true, None) => ".*",
                    (true, Some('/')) => {
                        rest.next();
                        before = '/';
                        "(?:.*/)?"
                    }
                    _ => "[^/]*",
                };
                regex.push_str(any);
            }
            '?' => regex.push_str("[^/]"),
            '[' => set(&mut rest, &mut regex)?,
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            ',' if depth > 0 => regex.push('|'),
            '}' if depth > 0 => {
                depth -= 1;
                regex.push(')');
            }
            '\\' => {
                let next = rest.next().ok_or("it ends with a backslash")?;
                regex.push_str(&regex::escape(next.encode_utf8(&mut [0; 4])));
            }
            _ => regex.push_str(&regex::escape(next.encode_utf8(&mut [0; 4]))),
        }
    }
    if depth > 0 {
        return Err("a brace is open");
    }
    regex.push_str(")$");
    Ok(regex)
}

/// Parses a set after its opening bracket.
fn set(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    regex: &mut String,
) -> Result<(), &'static str> {
    regex.push('[');
    if rest.next_if(|it| matches!(it, '!' | '^')).is_some() {
        regex.push_str("^/");
    }
    let mut empty = true;
    loop {
        let next = rest.next().ok_or("a bracket is open")?;
        match next {
            ']' if !empty => break,
            '-' => regex.push('-'),
            '\\' => {
                let next = rest.next().ok_or("it ends with a backslash")?;
                push_literal(next, regex);
            }
            _ => push_literal(next, regex),
        }
        empty = false;
    }
    regex.push(']');
    Ok(())
}

/// Adds a character of a set, whose operators are `&&`, `--`, `~~`.
fn push_literal(literal: char, regex: &mut String) {
    if literal.is_ascii_punctuation() {
        regex.push('\\');
    }
    regex.push(literal);
}
