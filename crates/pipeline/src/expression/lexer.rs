use super::token::{Token, TokenKind, is_word};
use super::tree::Operator;
use super::{ExpressionError, hint};

/// The maximum number of tokens of an expression.
const MOST_TOKENS: usize = 99;

/// The signs; a longer one precedes its prefixes.
const SIGNS: [(&str, TokenKind<'static>); 9] = [
    ("(", TokenKind::Open),
    (")", TokenKind::Close),
    ("==", TokenKind::Comparison(Operator::Equal)),
    ("=~", TokenKind::Comparison(Operator::Match)),
    ("!=", TokenKind::Comparison(Operator::NotEqual)),
    ("!~", TokenKind::Comparison(Operator::NoMatch)),
    ("&&", TokenKind::Both),
    ("||", TokenKind::Either),
    ("!", TokenKind::Not),
];

/// Splits an expression into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start_matches(is_space);
        at = text.len() - rest.len();
        if rest.is_empty() {
            return Ok(tokens);
        }
        if tokens.len() == MOST_TOKENS {
            let message = format!("the expression has more than {MOST_TOKENS} parts");
            let error = ExpressionError::new(at..text.len(), message);
            return Err(error.with_help("split it into several rules"));
        }
        let (kind, length) = token(rest).ok_or_else(|| hint::no_token(text, at, &tokens))?;
        tokens.push(Token {
            kind,
            range: at..at + length,
        });
        at += length;
    }
}

/// Matches Ruby's `\s`.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C')
}

/// Returns the token at the start of `text`, and its length.
fn token(text: &str) -> Option<(TokenKind<'_>, usize)> {
    match text.as_bytes().first()? {
        b'$' => input(text).or_else(|| variable(text)),
        b'"' | b'\'' => string(text),
        b'/' => {
            let length = pattern_length(text)?;
            Some((TokenKind::Pattern(&text[..length]), length))
        }
        b'n' => text.starts_with("null").then_some((TokenKind::Null, 4)),
        b't' | b'f' => boolean(text),
        _ => {
            let sign = SIGNS.iter().find(|(sign, _)| text.starts_with(sign));
            sign.map(|(sign, kind)| (*kind, sign.len()))
        }
    }
}

/// Reads `$[[ inputs.name ]]`.
fn input(text: &str) -> Option<(TokenKind<'_>, usize)> {
    let inner = text.strip_prefix("$[[")?.trim_start_matches(is_space);
    let inner = inner.strip_prefix("inputs.")?;
    let end = inner.find(|letter| !is_word(letter) && letter != '-')?;
    let behind = inner[end..].trim_start_matches(is_space);
    let rest = behind.strip_prefix("]]")?;
    (end > 0).then_some((TokenKind::Input(&inner[..end]), text.len() - rest.len()))
}

fn variable(text: &str) -> Option<(TokenKind<'_>, usize)> {
    let behind = &text[1..];
    let length = behind.find(|letter| !is_word(letter));
    let name = &behind[..length.unwrap_or(behind.len())];
    (!name.is_empty()).then_some((TokenKind::Variable(name), 1 + name.len()))
}

/// Reads text in quotes, without escapes and line breaks.
fn string(text: &str) -> Option<(TokenKind<'_>, usize)> {
    let quote = text.chars().next()?;
    let (inner, _) = text[1..].split_once(quote)?;
    (!inner.contains('\n')).then_some((TokenKind::Text(inner), inner.len() + 2))
}

fn boolean(text: &str) -> Option<(TokenKind<'_>, usize)> {
    let (word, flag) = [("true", true), ("false", false)]
        .into_iter()
        .find(|(word, _)| text.starts_with(word))?;
    let is_whole = !text[word.len()..].starts_with(is_word);
    is_whole.then_some((TokenKind::Boolean(flag), word.len()))
}

/// Returns the length of the regular expression at the start of `text`, including flags.
///
/// GitLab matches `/`, then greedily one or more of `\/` or any character but a slash, then a
/// character other than a backslash, which may be a slash, then `/`.
fn pattern_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_slash = |at: usize| bytes.get(at) == Some(&b'/');
    let first_length = text[1..].chars().next()?.len_utf8();
    let mut at = 1;
    let mut before_end = None;
    // The greedy part ends at the first slash that is not preceded by a backslash.
    while let Some(&byte) = bytes.get(at) {
        let may_end = at > first_length && byte != b'\\' && is_slash(at + 1);
        if may_end {
            before_end = Some(at);
        }
        match byte {
            b'\\' if is_slash(at + 1) => {
                if is_slash(at + 2) {
                    before_end = Some(at + 1);
                    break;
                }
                at += 2;
            }
            b'/' => break,
            _ => at += 1,
        }
    }
    let slash = before_end? + 1;
    let flags = bytes[slash + 1..].iter();
    let flags = flags.take_while(|flag| b"ismU".contains(flag)).count();
    Some(slash + 1 + flags)
}
