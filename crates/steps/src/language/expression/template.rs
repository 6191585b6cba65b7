//! Texts with expressions in them.

use super::error::ExpressionError;
use super::evaluate;
use super::parse::{self, DEEPEST};
use super::scope::Scope;
use super::token::Words;
use super::tree::Expression;
use crate::language::value::{Kind, Value};
use std::borrow::Cow;

/// The longest text that may be made.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// A text with expressions in it, `Hello, ${{ inputs.name }}`, which has been read.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    Expression(Expression),
}

impl Part {
    /// Returns how high the tree of it is.
    pub(super) const fn height(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Expression(expression) => expression.height,
        }
    }
}

impl Template {
    /// Reads a text. `\${{` stands for `${{`.
    ///
    /// # Errors
    ///
    /// Says what is no expression, and where.
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

    /// Returns it as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether it stands for itself.
    pub fn is_plain(&self) -> bool {
        !self
            .parts
            .iter()
            .any(|part| matches!(part, Part::Expression(_)))
    }

    /// Returns its text, without any expression: those have no value here.
    pub(crate) fn plain(&self) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Expression(_) => "",
        });
        texts.collect()
    }

    /// Returns what it stands for. An expression that is all of it keeps its type, all else is a text.
    ///
    /// # Errors
    ///
    /// Says which expression has no value, and why.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Value, ExpressionError> {
        if let [Part::Expression(expression)] = &self.parts[..] {
            return evaluate::value(expression, scope).map(Cow::into_owned);
        }
        joined(&self.parts, scope)
    }

    /// Returns the same; white space around an expression that is all else does not make it a text.
    ///
    /// A block of YAML ends with a newline that nobody means.
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
        joined(&self.parts, scope)
    }
}

/// Returns all parts as one text, which is secret if one of them is.
pub(super) fn joined(parts: &[Part], scope: &dyn Scope) -> Result<Value, ExpressionError> {
    let mut whole = String::new();
    let mut is_sensitive = false;
    for part in parts {
        match part {
            Part::Text(text) => whole.push_str(text),
            Part::Expression(expression) => {
                let value = evaluate::value(expression, scope)?;
                is_sensitive |= value.has_secrets();
                match &value.kind {
                    Kind::Text(text) => whole.push_str(text),
                    _ => whole.push_str(&value.to_text()),
                }
                if whole.len() > LONGEST {
                    return Err(too_long(expression.at));
                }
            }
        }
    }
    Ok(Value::text(whole).sensitive_if(is_sensitive))
}

pub(super) fn too_long(at: usize) -> ExpressionError {
    ExpressionError::new(
        at,
        format!("what is made here is longer than {LONGEST} bytes"),
    )
}

/// Reads a text in double quotes from behind the first quote. Returns its parts, and where it ends.
pub(super) fn quoted(
    text: &[char],
    begin: usize,
    depth: usize,
) -> Result<(Vec<Part>, usize), ExpressionError> {
    let mut reader = Reader::new(text, begin, depth + 1);
    if depth + 1 > DEEPEST {
        return Err(ExpressionError::new(begin, "texts are nested too deep"));
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
        "a text in double quotes has no end",
    ))
}

/// Reads text and the expressions in it.
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

    /// Passes over an expression, or an escaped beginning of one, if there is one here.
    fn expression(&mut self, next: char) -> Result<bool, ExpressionError> {
        match next {
            '\\' if self.follows("\\${{") => {
                self.at += "\\${{".len();
                self.text.push_str("${{");
                Ok(true)
            }
            '$' if self.follows("${{") => {
                let begin = self.at;
                let mut words = Words::new(self.source, begin + "${{".len(), self.depth);
                let expression = parse::expression(&mut words)?;
                let end = words.place();
                if !words.closes() {
                    let error = match words.first() {
                        Some(_) => (end, "an operator or `}}` is expected here"),
                        None => (begin, "this expression has no end: `}}` is missing"),
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

    /// Reads what follows a backslash in double quotes.
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
                // Two of them are one character, as in JSON.
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
                let words = "this is no character of Unicode";
                char::from_u32(code).ok_or_else(|| ExpressionError::new(at, words))?
            }
            _ => {
                let words = "there is no such escape; there are \\\\ \\\" \\/ \\n \\r \\t \\a \\b \\f \\v \\uXXXX \\${{";
                return Err(ExpressionError::new(at, words));
            }
        })
    }

    fn code_unit(&mut self, at: usize) -> Result<u32, ExpressionError> {
        let digits = self.source.get(self.at..self.at + 4).unwrap_or_default();
        let digits: String = digits.iter().collect();
        self.at += 4;
        let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
        code.ok_or_else(|| ExpressionError::new(at, "four digits are expected after \\u"))
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
