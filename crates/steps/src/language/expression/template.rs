//! Strings with expressions.

use super::ExpressionError;
use super::Scope;
use super::evaluate;
use super::parse::{self, DEEPEST};
use super::token::Tokens;
use super::tree::Part;
use crate::language::value::Value;
use std::borrow::Cow;

/// A parsed string with expressions, such as `Hello, ${{ inputs.name }}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

impl Template {
    /// Parses a string. `\${{` stands for `${{`.
    ///
    /// # Errors
    ///
    /// When an expression is invalid, with its position.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let source = text.to_owned();
        if !text.contains("${{") {
            let parts = vec![Part::Text(text.to_owned())];
            return Ok(Self { source, parts });
        }
        let text: Vec<char> = text.chars().collect();
        let mut reader = Reader::new(&text, 0, 0);
        while let Some(next) = reader.peek() {
            if !reader.expression(next)? {
                reader.text.push(next);
                reader.at += 1;
            }
        }
        let parts = reader.parts();
        Ok(Self { source, parts })
    }

    /// Returns the text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether it has no expressions.
    pub fn is_plain(&self) -> bool {
        !self
            .parts
            .iter()
            .any(|part| matches!(part, Part::Expression(_)))
    }

    /// Returns the text without expressions.
    pub(crate) fn plain(&self) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Expression(_) => "",
        });
        texts.collect()
    }

    /// Evaluates the template. A single expression keeps its type; anything else becomes a string.
    ///
    /// # Errors
    ///
    /// When an expression cannot be evaluated.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Value, ExpressionError> {
        if let [Part::Expression(expression)] = &self.parts[..] {
            return evaluate::value(expression, scope).map(Cow::into_owned);
        }
        evaluate::joined(&self.parts, scope)
    }

    /// Evaluates the template, ignoring white space around a single expression.
    ///
    /// A block scalar of YAML ends with a newline that is not intended.
    ///
    /// # Errors
    ///
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_trimmed(&self, scope: &dyn Scope) -> Result<Value, ExpressionError> {
        let is_space = |part: &&Part| matches!(part, Part::Text(text) if text.trim().is_empty());
        let mut parts = self.parts.iter().filter(|part| !is_space(part));
        if let (Some(Part::Expression(expression)), None) = (parts.next(), parts.next()) {
            return evaluate::value(expression, scope).map(Cow::into_owned);
        }
        evaluate::joined(&self.parts, scope)
    }
}

/// Parses a string in double quotes after its first quote. Returns its parts and its end.
pub(super) fn quoted(
    text: &[char],
    begin: usize,
    depth: usize,
) -> Result<(Vec<Part>, usize), ExpressionError> {
    let mut reader = Reader::new(text, begin, depth + 1);
    if depth + 1 > DEEPEST {
        return Err(ExpressionError::new(begin, "strings are nested too deep"));
    }
    while let Some(next) = reader.peek() {
        if next == '"' {
            let end = reader.at + 1;
            return Ok((reader.parts(), end));
        }
        if reader.expression(next)? {
            continue;
        }
        reader.at += 1;
        let character = if next == '\\' { reader.escape()? } else { next };
        reader.text.push(character);
    }
    Err(ExpressionError::new(
        begin - 1,
        "unterminated string in double quotes",
    ))
}

/// Reads text and its expressions.
struct Reader<'t> {
    source: &'t [char],
    at: usize,
    depth: usize,
    text: String,
    done: Vec<Part>,
}

impl<'t> Reader<'t> {
    const fn new(source: &'t [char], at: usize, depth: usize) -> Self {
        Self {
            source,
            at,
            depth,
            text: String::new(),
            done: Vec::new(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.source.get(self.at).copied()
    }

    fn follows(&self, text: &str) -> bool {
        let rest = self.source.get(self.at..).unwrap_or_default();
        rest.len() >= text.len() && text.chars().eq(rest.iter().copied().take(text.len()))
    }

    /// Consumes an expression, or an escaped start of one, if there is one here.
    fn expression(&mut self, next: char) -> Result<bool, ExpressionError> {
        match next {
            '\\' if self.follows("\\${{") => {
                self.at += "\\${{".len();
                self.text.push_str("${{");
                Ok(true)
            }
            '$' if self.follows("${{") => {
                let begin = self.at;
                let mut tokens = Tokens::new(self.source, begin + "${{".len(), self.depth);
                let expression = parse::expression(&mut tokens)?;
                let end = tokens.position();
                if !tokens.closes() {
                    let error = match tokens.first() {
                        Some(_) => (end, "expected an operator or `}}`"),
                        None => (begin, "unterminated expression: `}}` is missing"),
                    };
                    return Err(ExpressionError::new(error.0, error.1));
                }
                self.at = end + "}}".len();
                self.end_text();
                self.done.push(Part::Expression(expression));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Parses the rest of an escape in double quotes.
    fn escape(&mut self) -> Result<char, ExpressionError> {
        let at = self.at - 1;
        let escaped = self.peek();
        self.at += 1;
        Ok(match escaped {
            Some(same @ ('\\' | '"' | '/')) => same,
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('u') => {
                let code = self.code_unit(at)?;
                // A surrogate pair is one character, as in JSON.
                let code = if (0xd800..0xdc00).contains(&code) && self.follows("\\u") {
                    self.at += "\\u".len();
                    let low = self.code_unit(at)?;
                    match low.checked_sub(0xdc00) {
                        Some(low) if low < 0x400 => 0x10000 + ((code - 0xd800) << 10) + low,
                        _ => code,
                    }
                } else {
                    code
                };
                let message = "invalid Unicode character";
                char::from_u32(code).ok_or_else(|| ExpressionError::new(at, message))?
            }
            _ => {
                let message = "unknown escape; known are \\\\ \\\" \\/ \\n \\r \\t \\a \\b \\f \\v \\uXXXX \\${{";
                return Err(ExpressionError::new(at, message));
            }
        })
    }

    fn code_unit(&mut self, at: usize) -> Result<u32, ExpressionError> {
        let digits = self.source.get(self.at..self.at + 4).unwrap_or_default();
        let digits: String = digits.iter().collect();
        self.at += 4;
        let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
        code.ok_or_else(|| ExpressionError::new(at, "expected four hexadecimal digits after \\u"))
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.done.push(Part::Text(std::mem::take(&mut self.text)));
        }
    }

    fn parts(mut self) -> Vec<Part> {
        self.end_text();
        self.done
    }
}
