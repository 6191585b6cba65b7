//! Parses YAML documents to trees that keep the spelling of scalars.

use super::error::LanguageError;
use super::value::Value;
use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::BTreeMap;

/// The deepest nesting.
const DEEPEST: usize = 32;

/// A node of a document.
#[derive(Clone, PartialEq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum Node {
    /// Null.
    Null,
    /// A scalar without quotes, as written. Its use decides whether it is a string, a number or a boolean.
    Plain(String),
    /// A scalar that is always a string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping.
    Map(BTreeMap<String, Node>),
}

impl Node {
    /// Returns a scalar as a string: `1.10` keeps its zero.
    pub(crate) fn into_text(self) -> Option<String> {
        match self {
            Self::Plain(text) | Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value by the core schema of YAML 1.2, in which plain scalars may be numbers or booleans.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::NULL,
            Self::Plain(text) => match text.as_str() {
                "true" | "True" | "TRUE" => Value::boolean(true),
                "false" | "False" | "FALSE" => Value::boolean(false),
                _ => number(text).map_or_else(|| Value::text(text), Value::number),
            },
            Self::Text(text) => Value::text(text),
            Self::List(nodes) => Value::array(nodes.iter().map(Self::to_value).collect()),
            Self::Map(nodes) => {
                Value::named(nodes.iter().map(|(name, node)| (name, node.to_value())))
            }
        }
    }
}

/// Parses all documents of a text.
///
/// Anchors and tags are refused: steps do not need them, and a few lines can expand to gigabytes.
pub(crate) fn documents(text: &str) -> Result<Vec<Node>, LanguageError> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
    };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            Event::StreamEnd => return Ok(documents),
            Event::DocumentStart(_) => {
                let first = reader.next()?;
                documents.push(reader.node(first, 0)?);
            }
            _ => {}
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Event<'t>, LanguageError> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            // The parser's messages do not quote the text.
            Some(Err(error)) => {
                let marker = error.marker();
                let column = marker.col() + 1;
                Err(LanguageError::at(marker.line(), Some(column), error.info()))
            }
            None => Ok(Event::StreamEnd),
        }
    }

    fn node(&mut self, event: Event<'t>, depth: usize) -> Result<Node, LanguageError> {
        if depth > DEEPEST {
            return Err(LanguageError::new(format!(
                "it is nested deeper than {DEEPEST} levels"
            )));
        }
        match event {
            Event::Scalar(text, style, 0, None) => Ok(scalar(&text, style)),
            Event::SequenceStart(0, None) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Node::List(list)),
                        item => list.push(self.node(item, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(0, None) => {
                let mut map = BTreeMap::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Node::Map(map)),
                        Event::Scalar(text, _, 0, None) => text.into_owned(),
                        _ => return Err(LanguageError::new("a key is not a string")),
                    };
                    let value = self.next()?;
                    let value = self.node(value, depth + 1)?;
                    if map.contains_key(&key) {
                        return Err(LanguageError::new("a key is repeated"));
                    }
                    map.insert(key, value);
                }
            }
            Event::StreamEnd => Err(LanguageError::new("unexpected end")),
            _ => Err(LanguageError::new(
                "anchors, aliases and tags are not supported",
            )),
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Node {
    match text {
        _ if style != ScalarStyle::Plain => Node::Text(text.to_owned()),
        "" | "~" | "null" | "Null" | "NULL" => Node::Null,
        _ => Node::Plain(text.to_owned()),
    }
}

fn number(text: &str) -> Option<f64> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let are_digits = digits.chars().all(|digit| digit.is_digit(radix));
            let number = u32::from_str_radix(digits, radix).ok();
            return number.filter(|_| are_digits).map(f64::from);
        }
    }
    // `inf` and the like are strings here.
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    if !text.chars().all(is_number) {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_are_read() {
        let check = |text: &str, expect: serde_json::Value| {
            let documents = documents(text).map(|it| Node::List(it).to_value().to_json());
            assert_eq!(documents, Ok(expect), "{text}");
        };
        check("", json!([]));
        check("{}\n---\nrun: []", json!([{}, {"run": []}]));
        check("a: |-\n    x\n      y\n", json!([{"a": "x\n  y"}]));
        check(
            "- 'it''s'\n- \"a\\tb\"\n- 1\n",
            json!([["it's", "a\tb", 1]]),
        );
        check("a:\nb: ~\nc: ''", json!([{"a": null, "b": null, "c": ""}]));
        check(
            "[true, 'true', False, 1.5, 1e3, -7, +7, 0x1f, 0o17, 1.2.3, e, inf, .nan, 1_0, yes]",
            json!([[
                true, "true", false, 1.5, 1000, -7, 7, 31, 15, "1.2.3", "e", "inf", ".nan", "1_0",
                "yes"
            ]]),
        );
        check(
            "---\nspec:\n---\nrun: x",
            json!([{"spec": null}, {"run": "x"}]),
        );
    }

    #[test]
    fn string_scalar_keeps_its_spelling() {
        for text in [
            "1.10",
            "010",
            "1e3",
            "1234567e5",
            "0x1f",
            "18446744073709551615",
            "true",
        ] {
            let nodes = documents(text).unwrap();
            let read = nodes.into_iter().next().and_then(Node::into_text);
            assert_eq!(read.as_deref(), Some(text));
        }
    }

    #[test]
    fn anchors_tags_and_repeated_keys_are_refused() {
        let check = |text: &str| assert!(documents(text).is_err(), "{text}");
        check("a: &x 1\nb: *x");
        check("a: !!str 1");
        check("&x a: 1");
        check("!!str a: 1");
        check("a: 1\na: 2");
        check("[a, b");
        check("a: \"x");
        check("? [a]\n: b");
        check(&"[".repeat(100_000));
    }
}
