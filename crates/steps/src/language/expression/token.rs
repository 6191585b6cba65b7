//! Splits expressions into tokens.

use super::ExpressionError;
use super::template;
use super::tree::Part;

/// A token of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(f64),
    /// A string; in double quotes it may contain expressions.
    Text(Vec<Part>),
    Sign(&'static str),
}

/// All signs, longer ones first.
const SIGNS: [&str; 23] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", ".", ",", ":", "(",
    ")", "[", "]", "{", "}",
];

/// Reads tokens one by one.
#[derive(Debug, Clone)]
pub(super) struct Tokens<'t> {
    text: &'t [char],
    at: usize,
    /// The nesting depth of the expression.
    depth: usize,
}

impl<'t> Tokens<'t> {
    pub(super) const fn new(text: &'t [char], at: usize, depth: usize) -> Self {
        Self { text, at, depth }
    }

    /// Skips white space, and returns the position of the next token.
    pub(super) fn position(&mut self) -> usize {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.at
    }

    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    /// Sets the nesting depth of the next token.
    pub(super) const fn at_depth(&mut self, depth: usize) -> &mut Self {
        self.depth = depth;
        self
    }

    /// Consumes `}}` if it is next.
    pub(super) fn closes(&mut self) -> bool {
        let at = self.position();
        let closes = self.text.get(at..at + 2) == Some(&['}', '}']);
        if closes {
            self.at += 2;
        }
        closes
    }

    /// Returns the next token without consuming it, if it is a sign. Others are not read: a string may be long.
    pub(super) fn sign(&mut self) -> Option<&'static str> {
        self.position();
        let is_here = |sign: &&&str| {
            let rest = self.rest().iter().copied();
            sign.chars().eq(rest.take(sign.len()))
        };
        SIGNS.iter().find(is_here).copied()
    }

    /// Consumes a sign if it is next.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        let is_next = self.sign() == Some(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Returns the first character of the next token.
    pub(super) fn first(&mut self) -> Option<char> {
        self.position();
        self.peek()
    }

    /// Consumes the next token.
    pub(super) fn next(&mut self) -> Result<Option<Token>, ExpressionError> {
        let begin = self.position();
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
            let message = format!("unexpected {first:?}");
            return Err(ExpressionError::new(begin, message));
        };
        self.at += sign.len();
        Ok(Some(Token::Sign(sign)))
    }

    fn number(&mut self, begin: usize) -> Result<Token, ExpressionError> {
        let digits = |tokens: &mut Self| tokens.while_is(|c| c.is_ascii_digit());
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
        let continues = self
            .peek()
            .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && !continues => Ok(Token::Number(number)),
            _ => Err(ExpressionError::new(begin, "invalid number")),
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
                        let message = "in single quotes only \\\\ and \\' are escapes";
                        return Err(ExpressionError::new(self.at - 1, message));
                    };
                    self.at += 1;
                    text.push(escaped);
                }
                other => text.push(other),
            }
        }
        Err(ExpressionError::new(
            begin,
            "unterminated string in single quotes",
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
