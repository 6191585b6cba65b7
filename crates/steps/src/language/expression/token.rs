//! Expressions as words and signs.

use super::error::ExpressionError;
use super::template::{self, Part};

/// A word or sign of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(f64),
    /// A text; one in double quotes may hold expressions.
    Text(Vec<Part>),
    Sign(&'static str),
}

/// All signs, the longer ones first.
const SIGNS: [&str; 23] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", ".", ",", ":", "(",
    ")", "[", "]", "{", "}",
];

/// Reads one word after the other.
#[derive(Debug, Clone)]
pub(super) struct Words<'t> {
    text: &'t [char],
    at: usize,
    /// How many expressions these words are in.
    depth: usize,
}

impl<'t> Words<'t> {
    pub(super) const fn new(text: &'t [char], at: usize, depth: usize) -> Self {
        Self { text, at, depth }
    }

    /// Returns where the next one begins.
    pub(super) fn place(&mut self) -> usize {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.at
    }

    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    /// Says how deep the next word is.
    pub(super) const fn at_depth(&mut self, depth: usize) -> &mut Self {
        self.depth = depth;
        self
    }

    /// Passes over `}}`, if it is next.
    pub(super) fn closes(&mut self) -> bool {
        let at = self.place();
        let closes = self.text.get(at..at + 2) == Some(&['}', '}']);
        if closes {
            self.at += 2;
        }
        closes
    }

    /// Returns the next one without passing over it, if it is a sign. Nothing else is looked at: a text may be long.
    pub(super) fn sign(&mut self) -> Option<&'static str> {
        self.place();
        let is_here = |sign: &&&str| {
            let rest = self.rest().iter().copied();
            sign.chars().eq(rest.take(sign.len()))
        };
        SIGNS.iter().find(is_here).copied()
    }

    /// Passes over a sign, if it is next.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        let is_next = self.sign() == Some(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Returns the character that the next one begins with.
    pub(super) fn first(&mut self) -> Option<char> {
        self.place();
        self.peek()
    }

    /// Passes over the next one.
    pub(super) fn next(&mut self) -> Result<Option<Token>, ExpressionError> {
        let begin = self.place();
        let Some(first) = self.peek() else {
            return Ok(None);
        };
        if first.is_ascii_alphabetic() || first == '_' {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            return Ok(Some(Token::Name(self.while_is(is_of_name))));
        }
        if first.is_ascii_digit() {
            return self.number(begin).map(Some);
        }
        if first == '"' {
            self.at += 1;
            let (parts, end) = template::quoted(self.text, self.at, self.depth)?;
            self.at = end;
            return Ok(Some(Token::Text(parts)));
        }
        if first == '\'' {
            return self.raw(begin).map(Some);
        }
        let Some(sign) = self.sign() else {
            let words = format!("{first:?} is no part of an expression");
            return Err(ExpressionError::new(begin, words));
        };
        self.at += sign.len();
        Ok(Some(Token::Sign(sign)))
    }

    fn number(&mut self, begin: usize) -> Result<Token, ExpressionError> {
        let digits = |words: &mut Self| words.while_is(|c| c.is_ascii_digit());
        let mut text = digits(self);
        if self.peek() == Some('.') && self.text.get(self.at + 1).is_some_and(char::is_ascii_digit)
        {
            self.at += 1;
            text.push('.');
            text.push_str(&digits(self));
        }
        if self.peek().is_some_and(|c| matches!(c, 'e' | 'E')) {
            self.at += 1;
            text.push('e');
            if let Some(sign @ ('+' | '-')) = self.peek() {
                self.at += 1;
                text.push(sign);
            }
            text.push_str(&digits(self));
        }
        let goes_on = self
            .peek()
            .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && !goes_on => Ok(Token::Number(number)),
            _ => Err(ExpressionError::new(begin, "this is no number")),
        }
    }

    fn raw(&mut self, begin: usize) -> Result<Token, ExpressionError> {
        let mut text = String::new();
        self.at += 1;
        while let Some(next) = self.peek() {
            self.at += 1;
            match next {
                '\'' => return Ok(Token::Text(vec![Part::Text(text)])),
                '\\' => {
                    let Some(escaped @ ('\\' | '\'')) = self.peek() else {
                        let words = "in single quotes only \\\\ and \\' are escapes";
                        return Err(ExpressionError::new(self.at - 1, words));
                    };
                    self.at += 1;
                    text.push(escaped);
                }
                other => text.push(other),
            }
        }
        Err(ExpressionError::new(
            begin,
            "a text in single quotes has no end",
        ))
    }

    fn rest(&self) -> &'t [char] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn while_is(&mut self, is_such: impl Fn(char) -> bool) -> String {
        let found: String = self.rest().iter().take_while(|c| is_such(**c)).collect();
        self.at += found.chars().count();
        found
    }
}
