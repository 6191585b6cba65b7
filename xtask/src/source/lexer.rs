//! Splits Rust source into tokens, so that checks do not confuse strings, code and comments.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, a keyword, a lifetime or a number.
    Word,
    /// One character of punctuation.
    Symbol,
    /// A string, byte string or character.
    Literal,
    /// A comment of either form, doc comments included.
    Comment,
}

/// A piece of source with its first line, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl Token<'_> {
    /// Whether the token is this word or symbol.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Symbol) && self.text == text
    }
}

/// Returns the tokens of a source text. Invalid Rust yields tokens too and never panics.
pub(crate) fn lex(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else {
            let (kind, length) = token(rest, first);
            (Some(kind), length)
        };
        let text = &rest[..length];
        if let Some(kind) = kind {
            tokens.push(Token { kind, text, line });
        }
        line += text.matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// Returns the kind and the byte length of the token at the start of the text.
fn token(text: &str, first: char) -> (Kind, usize) {
    if text.starts_with("//") {
        return (Kind::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (Kind::Comment, block_comment(text));
    }
    if let Some(length) = string(text) {
        return (Kind::Literal, length);
    }
    if first == '\'' {
        return quote(text);
    }
    if is_word(first) {
        return (Kind::Word, text.find(|c| !is_word(c)).unwrap_or(text.len()));
    }
    (Kind::Symbol, first.len_utf8())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a block comment, including nested ones.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length of a string that starts here, if any: plain, byte, C or raw.
fn string(text: &str) -> Option<usize> {
    let prefix = text.find(|c: char| !matches!(c, 'b' | 'c' | 'r'))?;
    if prefix > 2 {
        return None;
    }
    let raw = text[..prefix].ends_with('r');
    let body = &text[prefix..];
    let hashes = body.find(|c| c != '#')?;
    if !body[hashes..].starts_with('"') || (hashes > 0 && !raw) {
        return None;
    }
    let opened = prefix + hashes + 1;
    let close = format!("\"{}", &body[..hashes]);
    let length = if raw {
        text[opened..]
            .find(&close)
            .map_or(text.len(), |at| opened + at + close.len())
    } else {
        opened + escaped_until(&text[opened..], '"')
    };
    Some(length)
}

/// Returns the length up to and including the closing character, skipping escapes.
fn escaped_until(text: &str, close: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == close => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Distinguishes a character (`'a'`) from a lifetime (`'a`).
fn quote(text: &str) -> (Kind, usize) {
    let mut following = text[1..].chars();
    let (second, third) = (following.next(), following.next());
    if second == Some('\\') || third == Some('\'') {
        return (Kind::Literal, 1 + escaped_until(&text[1..], '\''));
    }
    (
        Kind::Word,
        1 + text[1..].find(|c| !is_word(c)).unwrap_or(text.len() - 1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[(Kind, &str)]) {
        let tokens: Vec<_> = lex(source)
            .into_iter()
            .map(|token| (token.kind, token.text))
            .collect();
        assert_eq!(tokens, expected, "{source}");
    }

    #[test]
    fn comments_end_at_their_delimiter() {
        check(
            "a // b\nc",
            &[
                (Kind::Word, "a"),
                (Kind::Comment, "// b"),
                (Kind::Word, "c"),
            ],
        );
        check(
            "/* a /* b */ c */ d",
            &[(Kind::Comment, "/* a /* b */ c */"), (Kind::Word, "d")],
        );
        check("/* never closed", &[(Kind::Comment, "/* never closed")]);
    }

    #[test]
    fn strings_hide_their_content() {
        check(
            r#""// \" }" x"#,
            &[(Kind::Literal, r#""// \" }""#), (Kind::Word, "x")],
        );
        check(
            r##"r#"a " // "# x"##,
            &[(Kind::Literal, r##"r#"a " // "#"##), (Kind::Word, "x")],
        );
        check("b\"{\" x", &[(Kind::Literal, "b\"{\""), (Kind::Word, "x")]);
        check("\"never closed", &[(Kind::Literal, "\"never closed")]);
    }

    #[test]
    fn characters_are_not_lifetimes() {
        check("'{' x", &[(Kind::Literal, "'{'"), (Kind::Word, "x")]);
        check(r"'\'' x", &[(Kind::Literal, r"'\''"), (Kind::Word, "x")]);
        check("'a x", &[(Kind::Word, "'a"), (Kind::Word, "x")]);
        check("'é'", &[(Kind::Literal, "'é'")]);
    }

    #[test]
    fn words_with_a_string_prefix_are_words() {
        check(
            "break crb r#fn",
            &[
                (Kind::Word, "break"),
                (Kind::Word, "crb"),
                (Kind::Word, "r"),
                (Kind::Symbol, "#"),
                (Kind::Word, "fn"),
            ],
        );
    }

    #[test]
    fn multiline_tokens_advance_the_line() {
        let lines: Vec<_> = lex("\"a\nb\"\n/*\n*/ c")
            .iter()
            .map(|token| token.line)
            .collect();
        assert_eq!(lines, [1, 3, 4]);
    }
}
