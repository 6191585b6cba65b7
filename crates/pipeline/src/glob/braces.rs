use thiserror::Error;

/// Why a text is not a usable glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GlobError {
    /// Its braces expand to too many alternatives.
    #[error("the braces of the glob expand to too many alternatives")]
    TooManyAlternatives,
}

/// The maximum number of alternatives that the braces of a glob may expand to.
const MOST_ALTERNATIVES: usize = 1024;
/// The maximum number of bytes written during the expansion.
const MOST_WORK: usize = 4 << 20;

/// Expands the braces of a glob.
///
/// As in Ruby, the first pair of braces is expanded, then those of the result. A glob with an
/// unclosed brace has no alternatives.
pub(super) fn expand(text: &str) -> Result<Vec<String>, GlobError> {
    let mut open = vec![text.to_owned()];
    let mut alternatives = Vec::new();
    let mut work = 0;
    while let Some(text) = open.pop() {
        match first_pair(&text) {
            Pair::None => alternatives.push(text),
            Pair::Unclosed => {}
            Pair::Closed(start, end) => {
                let choices = choices(&text[start + 1..end]);
                for choice in choices.iter().rev() {
                    let alternative = [&text[..start], choice, &text[end + 1..]].concat();
                    work += alternative.len() + 1;
                    if work > MOST_WORK {
                        return Err(GlobError::TooManyAlternatives);
                    }
                    open.push(alternative);
                }
            }
        }
        if alternatives.len() + open.len() > MOST_ALTERNATIVES {
            return Err(GlobError::TooManyAlternatives);
        }
    }
    Ok(alternatives)
}

/// The offsets of the first pair of braces.
enum Pair {
    None,
    Unclosed,
    Closed(usize, usize),
}

fn first_pair(text: &str) -> Pair {
    let mut start = None;
    let mut depth = 0;
    for (at, byte) in unescaped(text) {
        match (byte, start) {
            (b'{', None) => {
                start = Some(at);
                depth = 1;
            }
            (b'{', Some(_)) => depth += 1,
            (b'}', Some(start)) => {
                depth -= 1;
                if depth == 0 {
                    return Pair::Closed(start, at);
                }
            }
            _ => {}
        }
    }
    start.map_or(Pair::None, |_| Pair::Unclosed)
}

/// Splits the text between braces at the commas outside of inner braces.
fn choices(inner: &str) -> Vec<&str> {
    let mut choices = Vec::new();
    let mut start = 0;
    let mut depth = 0;
    for (at, byte) in unescaped(inner) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                choices.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    choices.push(&inner[start..]);
    choices
}

/// Returns the unescaped bytes with their offsets.
fn unescaped(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut is_escaped = false;
    text.bytes().enumerate().filter(move |(_, byte)| {
        let skips = is_escaped || *byte == b'\\';
        is_escaped = !is_escaped && *byte == b'\\';
        !skips
    })
}
