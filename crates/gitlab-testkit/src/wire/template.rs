//! Recorded texts with placeholders, compared with real ones.

use serde_json::Value;
use std::collections::BTreeMap;

/// The placeholders that stand for one value in all calls.
const FIXED: [&str; 4] = ["server", "host", "runner token", "system_id"];
/// The placeholders that stand for a number.
const NUMBERS: [&str; 5] = ["length", "first", "last", "size", "bytes of the trace"];

/// The values of placeholders that were met so far.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    known: BTreeMap<String, String>,
}

enum Piece<'a> {
    Literal(&'a str),
    Placeholder(&'a str),
}

impl Bindings {
    /// Returns whether a text fits a template; a placeholder with one value keeps the first that fits.
    pub(super) fn matches(&mut self, template: &str, text: &str) -> bool {
        let pieces = pieces(template);
        let mut found = BTreeMap::new();
        let fits = self.fits(&pieces, text, &mut found);
        if fits {
            self.known.append(&mut found);
        }
        fits
    }

    /// Returns whether a JSON value fits a template; objects need the same fields.
    pub(super) fn matches_json(&mut self, template: &Value, value: &Value) -> bool {
        match (template, value) {
            (Value::String(template), Value::Number(number)) => {
                template == "{bytes of the trace}" && self.matches(template, &number.to_string())
            }
            (Value::String(template), Value::String(text)) => {
                template != "{bytes of the trace}" && self.matches(template, text)
            }
            (Value::Object(template), Value::Object(fields)) => {
                template.len() == fields.len()
                    && template.iter().all(|(key, one)| {
                        let field = fields.get(key);
                        field.is_some_and(|field| self.matches_json(one, field))
                    })
            }
            (Value::Array(template), Value::Array(all)) => {
                let mut pairs = template.iter().zip(all);
                template.len() == all.len() && pairs.all(|(one, it)| self.matches_json(one, it))
            }
            (template, value) => template == value,
        }
    }

    fn fits(&self, pieces: &[Piece<'_>], text: &str, found: &mut BTreeMap<String, String>) -> bool {
        let Some((first, rest)) = pieces.split_first() else {
            return text.is_empty();
        };
        let name = match first {
            Piece::Literal(literal) => {
                let behind = text.strip_prefix(literal);
                return behind.is_some_and(|behind| self.fits(rest, behind, found));
            }
            Piece::Placeholder(name) => *name,
        };
        let known = self.known.get(name).or_else(|| found.get(name));
        if let Some(behind) = known.map(|known| text.strip_prefix(known.as_str())) {
            return behind.is_some_and(|behind| self.fits(rest, behind, found));
        }
        let ends = text.char_indices().map(|(at, one)| at + one.len_utf8());
        for end in ends {
            let (value, behind) = text.split_at(end);
            let mut attempt = found.clone();
            if FIXED.contains(&name) {
                attempt.insert(name.to_owned(), value.to_owned());
            }
            if is_value_of(name, value) && self.fits(rest, behind, &mut attempt) {
                *found = attempt;
                return true;
            }
        }
        false
    }
}

/// Returns whether a text can be the value of a placeholder.
fn is_value_of(name: &str, value: &str) -> bool {
    if NUMBERS.contains(&name) {
        return value.bytes().all(|byte| byte.is_ascii_digit());
    }
    match name {
        "8 hex digits" => value.len() == 8 && value.bytes().all(|byte| byte.is_ascii_hexdigit()),
        _ => true,
    }
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, name, behind)) = next_placeholder(rest) {
        if !before.is_empty() {
            pieces.push(Piece::Literal(before));
        }
        pieces.push(Piece::Placeholder(name));
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest));
    }
    pieces
}

fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, behind) = text.split_once('{')?;
    let (name, behind) = behind.split_once('}')?;
    Some((before, name, behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_fit_their_values() {
        let check = |template: &str, text: &str, expect: bool| {
            let fits = Bindings::default().matches(template, text);
            assert_eq!(fits, expect, "{template} {text}");
        };
        check("{first}-{last}", "0-12", true);
        check("{first}-{last}", "0-", false);
        check("{first}-{last}", "a-b", false);
        check("crc32:{8 hex digits}", "crc32:0123abcd", true);
        check("crc32:{8 hex digits}", "crc32:0123abc", false);
        check(
            "multipart/form-data; boundary={boundary}",
            "multipart/form-data; boundary=x",
            true,
        );
        check("text/plain", "text/plain; charset=utf-8", false);
    }

    #[test]
    fn fixed_placeholder_keeps_its_value() {
        let mut bindings = Bindings::default();
        assert!(bindings.matches("{runner token}", "a"));
        assert!(bindings.matches("{request id}", "a") && bindings.matches("{request id}", "b"));
        assert!(!bindings.matches("{runner token}", "b"));
        let template =
            json!({"token": "{runner token}", "output": {"bytesize": "{bytes of the trace}"}});
        let fits = |bindings: &mut Bindings, size: Value| {
            let value = json!({"token": "a", "output": {"bytesize": size}});
            bindings.matches_json(&template, &value)
        };
        assert!(fits(&mut bindings, json!(12)));
        assert!(!fits(&mut bindings, json!("12")));
    }
}
