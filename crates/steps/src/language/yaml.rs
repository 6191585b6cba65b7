//! YAML documents as values of JSON.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// Deeper nesting than this is refused.
const DEEPEST: usize = 32;

/// Reads all documents of a text, by the core schema of YAML 1.2: what is plain may be a number, yes or no, or nothing.
///
/// Anchors and tags are refused: no step needs them, and a few lines of them can stand for gigabytes.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
    };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            Event::StreamEnd => return Ok(documents),
            Event::DocumentStart(_) => {
                let first = reader.next()?;
                documents.push(reader.value(first, 0)?);
            }
            _ => {}
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Event<'t>, String> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            // The words of the parser hold none of the text.
            Some(Err(error)) => Err(format!("line {}: {}", error.marker().line(), error.info())),
            None => Ok(Event::StreamEnd),
        }
    }

    fn value(&mut self, event: Event<'t>, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(format!("it is nested deeper than {DEEPEST} levels"));
        }
        match event {
            Event::Scalar(text, style, 0, None) => Ok(scalar(&text, style)),
            Event::SequenceStart(0, None) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Value::Array(list)),
                        item => list.push(self.value(item, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(0, None) => {
                let mut map = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Value::Object(map)),
                        Event::Scalar(text, ..) => text.into_owned(),
                        _ => return Err("a key is no text".to_owned()),
                    };
                    let value = self.next()?;
                    let value = self.value(value, depth + 1)?;
                    if map.contains_key(&key) {
                        return Err("a key is there twice".to_owned());
                    }
                    map.insert(key, value);
                }
            }
            Event::StreamEnd => Err("it ends too early".to_owned()),
            _ => Err("it has an anchor, an alias or a tag, which steps may not have".to_owned()),
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    // Words that the parser of floats takes for numbers are none here.
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    if !text.chars().all(is_number) {
        let digits = |prefix, radix| i64::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
        return digits("0x", 16)
            .or_else(|| digits("0o", 8))
            .map(Number::from);
    }
    text.parse().ok().and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_are_read() {
        let check = |text: &str, expect: Value| {
            assert_eq!(documents(text).map(Value::Array), Ok(expect), "{text}");
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
                true, "true", false, 1.5, 1000.0, -7, 7, 31, 15, "1.2.3", "e", "inf", ".nan",
                "1_0", "yes"
            ]]),
        );
        check(
            "---\nspec:\n---\nrun: x",
            json!([{"spec": null}, {"run": "x"}]),
        );
    }

    #[test]
    fn what_no_step_needs_is_refused() {
        let check = |text: &str| assert!(documents(text).is_err(), "{text}");
        check("a: &x 1\nb: *x");
        check("a: !!str 1");
        check("a: 1\na: 2");
        check("[a, b");
        check("a: \"x");
        check("? [a]\n: b");
        check(&"[".repeat(100_000));
    }
}
