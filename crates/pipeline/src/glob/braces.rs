use super::GlobError;

/// How many texts the braces of a glob may stand for.
const MOST_SPELLINGS: usize = 1024;
/// How many bytes may be written on the way to them.
const MOST_WORK: usize = 4 << 20;

/// Returns the texts that a glob stands for, without the braces that list them.
///
/// As in Ruby, the first pair of braces is spelled out, then those of the result. A brace that is
/// never closed makes a glob that stands for nothing.
pub(super) fn spell_out(text: &str) -> Result<Vec<String>, GlobError> {
    let mut open = vec![text.to_owned()];
    let mut spellings = Vec::new();
    let mut work = 0;
    while let Some(text) = open.pop() {
        match first_pair(&text) {
            Pair::None => spellings.push(text),
            Pair::Unclosed => {}
            Pair::Closed(start, end) => {
                let choices = choices(&text[start + 1..end]);
                for choice in choices.iter().rev() {
                    let spelling = [&text[..start], choice, &text[end + 1..]].concat();
                    work += spelling.len() + 1;
                    if work > MOST_WORK {
                        return Err(GlobError::TooManySpellings);
                    }
                    open.push(spelling);
                }
            }
        }
        if spellings.len() + open.len() > MOST_SPELLINGS {
            return Err(GlobError::TooManySpellings);
        }
    }
    Ok(spellings)
}

/// Where the first pair of braces is.
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

/// Splits what is between braces at the commas that are in no inner braces.
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

/// Returns the bytes that no backslash stands before, with their places.
fn unescaped(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut is_escaped = false;
    text.bytes().enumerate().filter(move |(_, byte)| {
        let skips = is_escaped || *byte == b'\\';
        is_escaped = !is_escaped && *byte == b'\\';
        !skips
    })
}
