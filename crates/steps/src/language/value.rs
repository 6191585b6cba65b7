//! The values of the step language: those of JSON, with a mark for secrets.

use serde_json::{Map, Number};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A value, which may be a secret or contain secrets.
#[derive(Clone, PartialEq)]
pub struct Value {
    /// The content.
    pub kind: Kind,
    /// Whether all of it is secret. Values derived from a secret are secret.
    pub is_sensitive: bool,
}

/// The content of a value.
///
/// Its `Debug` shows nothing, since only [`Value`] knows whether it is secret.
#[derive(Clone, PartialEq)]
pub enum Kind {
    /// Null.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A 64-bit floating-point number, as in JSON.
    Number(f64),
    /// A string.
    Text(String),
    /// A list.
    Array(Vec<Value>),
    /// Named values.
    Struct(BTreeMap<String, Value>),
}

/// The types of inputs and outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// `string`
    Text,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
    /// `struct`
    Struct,
    /// `array`
    Array,
}

impl ValueType {
    /// Returns the type with this name in a specification.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::Text,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "struct" => Self::Struct,
            "array" => Self::Array,
            _ => return None,
        })
    }

    /// Returns the name in a specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Struct => "struct",
            Self::Array => "array",
        }
    }

    /// Returns the name with an article, for messages.
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Struct => "a struct",
            Self::Array => "an array",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Value {
    /// Null.
    pub const NULL: Self = Self::of(Kind::Null);

    const fn of(kind: Kind) -> Self {
        Self {
            kind,
            is_sensitive: false,
        }
    }

    /// Returns a string.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Kind::Text(text.into()))
    }

    /// Returns a number.
    pub const fn number(number: f64) -> Self {
        Self::of(Kind::Number(number))
    }

    /// Returns a boolean.
    pub const fn boolean(boolean: bool) -> Self {
        Self::of(Kind::Boolean(boolean))
    }

    /// Returns a list.
    pub const fn array(values: Vec<Self>) -> Self {
        Self::of(Kind::Array(values))
    }

    /// Returns named values.
    pub fn named<K: Into<String>>(values: impl IntoIterator<Item = (K, Self)>) -> Self {
        let values = values.into_iter().map(|(key, value)| (key.into(), value));
        Self::of(Kind::Struct(values.collect()))
    }

    /// Marks the value as a secret if `is_sensitive`; a secret stays one.
    #[must_use]
    pub const fn sensitive_if(mut self, is_sensitive: bool) -> Self {
        self.is_sensitive |= is_sensitive;
        self
    }

    /// Returns whether it is a secret or contains one.
    pub fn has_secrets(&self) -> bool {
        self.is_sensitive
            || match &self.kind {
                Kind::Array(values) => values.iter().any(Self::has_secrets),
                Kind::Struct(values) => values.values().any(Self::has_secrets),
                _ => false,
            }
    }

    /// Returns the type; `None` for null, which has no declared type.
    pub const fn value_type(&self) -> Option<ValueType> {
        Some(match self.kind {
            Kind::Null => return None,
            Kind::Boolean(_) => ValueType::Boolean,
            Kind::Number(_) => ValueType::Number,
            Kind::Text(_) => ValueType::Text,
            Kind::Array(_) => ValueType::Array,
            Kind::Struct(_) => ValueType::Struct,
        })
    }

    /// Returns the name of the type.
    pub fn type_name(&self) -> &'static str {
        self.value_type().map_or("null", ValueType::name)
    }

    /// Returns the name of the type with an article, for messages.
    pub fn type_with_article(&self) -> &'static str {
        self.value_type().map_or("null", ValueType::with_article)
    }

    /// Returns whether `&&`, `||` and `!` treat it as true.
    pub fn is_truthy(&self) -> bool {
        match &self.kind {
            Kind::Null => false,
            Kind::Boolean(boolean) => *boolean,
            Kind::Number(number) => *number != 0.0,
            Kind::Text(text) => !text.is_empty(),
            Kind::Array(values) => !values.is_empty(),
            Kind::Struct(values) => !values.is_empty(),
        }
    }

    /// Returns the value as text: strings unchanged, others as JSON. Numbers have no exponent.
    pub fn to_text(&self) -> String {
        if let Kind::Text(text) = &self.kind {
            return text.clone();
        }
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    /// Writes the value as JSON. Numbers have no exponent.
    fn write_json(&self, to: &mut String) {
        match &self.kind {
            Kind::Null => to.push_str("null"),
            Kind::Boolean(boolean) => to.push_str(if *boolean { "true" } else { "false" }),
            // Adding 0 turns -0 into 0.
            Kind::Number(number) => to.push_str(&(number + 0.0).to_string()),
            Kind::Text(text) => write_text(text, to),
            Kind::Array(values) => {
                to.push('[');
                for (index, value) in values.iter().enumerate() {
                    separate(index, to);
                    value.write_json(to);
                }
                to.push(']');
            }
            Kind::Struct(values) => {
                to.push('{');
                for (index, (key, value)) in values.iter().enumerate() {
                    separate(index, to);
                    write_text(key, to);
                    to.push(':');
                    value.write_json(to);
                }
                to.push('}');
            }
        }
    }

    /// Compares values by type, then by content: numbers, bytes of strings, elements of arrays. Structs are compared by
    /// length, then by keys, then by values.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (&self.kind, &other.kind) {
            (Kind::Boolean(one), Kind::Boolean(two)) => one.cmp(two),
            (Kind::Number(one), Kind::Number(two)) => {
                // NaN cannot be written in the language.
                one.partial_cmp(two).unwrap_or_else(|| one.total_cmp(two))
            }
            (Kind::Text(one), Kind::Text(two)) => one.cmp(two),
            (Kind::Array(one), Kind::Array(two)) => by_elements(one.iter(), two.iter()),
            (Kind::Struct(one), Kind::Struct(two)) => {
                let by_length = one.len().cmp(&two.len());
                by_length
                    .then_with(|| one.keys().cmp(two.keys()))
                    .then_with(|| by_elements(one.values(), two.values()))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }

    const fn rank(&self) -> u8 {
        match self.kind {
            Kind::Null => 0,
            Kind::Boolean(_) => 1,
            Kind::Number(_) => 2,
            Kind::Text(_) => 3,
            Kind::Array(_) => 4,
            Kind::Struct(_) => 5,
        }
    }

    /// Returns the value as JSON, including secrets. Integers have no decimal point.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.kind {
            Kind::Null => serde_json::Value::Null,
            Kind::Boolean(boolean) => (*boolean).into(),
            Kind::Number(number) => json_number(*number),
            Kind::Text(text) => text.as_str().into(),
            Kind::Array(values) => values.iter().map(Self::to_json).collect(),
            Kind::Struct(values) => {
                let values = values.iter().map(|(key, it)| (key.clone(), it.to_json()));
                serde_json::Value::Object(values.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the approximate memory use of its strings, in bytes.
    pub fn size(&self) -> usize {
        match &self.kind {
            Kind::Text(text) => text.len(),
            Kind::Array(values) => values.iter().map(|it| it.size() + 8).sum(),
            Kind::Struct(values) => values
                .iter()
                .map(|(key, it)| key.len() + it.size() + 8)
                .sum(),
            _ => 8,
        }
    }
}

fn separate(index: usize, to: &mut String) {
    if index > 0 {
        to.push(',');
    }
}

fn write_text(text: &str, to: &mut String) {
    to.push_str(&serde_json::Value::from(text).to_string());
}

fn by_elements<'v>(
    mut one: impl Iterator<Item = &'v Value>,
    mut two: impl Iterator<Item = &'v Value>,
) -> Ordering {
    loop {
        match (one.next(), two.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(one), Some(two)) => match one.compare(two) {
                Ordering::Equal => {}
                differs => return differs,
            },
        }
    }
}

/// The greatest distance from 0 up to which every integer is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn json_number(number: f64) -> serde_json::Value {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole, and near enough to 0"
        )]
        return (number as i64).into();
    }
    Number::from_f64(number).map_or(serde_json::Value::Null, serde_json::Value::Number)
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::NULL,
            serde_json::Value::Bool(boolean) => Self::boolean(*boolean),
            serde_json::Value::Number(number) => Self::number(number.as_f64().unwrap_or_default()),
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(values) => {
                Self::array(values.iter().map(Self::from).collect())
            }
            serde_json::Value::Object(values) => {
                Self::named(values.iter().map(|(key, value)| (key, Self::from(value))))
            }
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the value knows whether it is a secret.
        f.debug_struct("Kind").finish_non_exhaustive()
    }
}

/// Hides secrets.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.has_secrets() {
            return write!(f, "[{} with secrets]", self.type_name());
        }
        write!(f, "{}", self.to_json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(json: &serde_json::Value) -> Value {
        Value::from(json)
    }

    #[test]
    fn json_round_trips() {
        let check = |json: serde_json::Value| assert_eq!(value(&json).to_json(), json);
        check(json!(null));
        check(json!([1, -2.5, true, "x", {"a": {"b": []}}]));
        check(json!(1e300));
    }

    #[test]
    fn values_are_ordered_by_type_and_then_by_content() {
        let ordered = [
            json!(null),
            json!(false),
            json!(true),
            json!(-1),
            json!(2),
            json!(10),
            json!(""),
            json!("10"),
            json!("2"),
            json!("ä"),
            json!([]),
            json!([1]),
            json!([1, 0]),
            json!([2]),
            json!({}),
            json!({"b": 1}),
            json!({"a": 1, "b": 1}),
            json!({"a": 1, "b": 2}),
        ];
        for (index, one) in ordered.iter().enumerate() {
            for (other_index, other) in ordered.iter().enumerate() {
                let expect = index.cmp(&other_index);
                assert_eq!(value(one).compare(&value(other)), expect, "{one} {other}");
            }
        }
    }

    #[test]
    fn empty_values_are_false() {
        for falsy in [
            json!(null),
            json!(false),
            json!(0),
            json!(""),
            json!([]),
            json!({}),
        ] {
            assert!(!value(&falsy).is_truthy(), "{falsy}");
        }
        for truthy in [
            json!(true),
            json!(-1),
            json!("0"),
            json!([null]),
            json!({"a": 0}),
        ] {
            assert!(value(&truthy).is_truthy(), "{truthy}");
        }
    }

    #[test]
    fn strings_are_written_plain_and_others_as_json() {
        let check = |json: serde_json::Value, expect: &str| {
            assert_eq!(value(&json).to_text(), expect);
        };
        check(json!("a \"b\""), "a \"b\"");
        check(json!(42), "42");
        check(json!(0.5), "0.5");
        check(json!(null), "null");
        check(json!([1, "a", {"b": true}]), r#"[1,"a",{"b":true}]"#);
        check(json!(1e21), "1000000000000000000000");
        check(
            json!([1e21, 1e-7, -0.0]),
            "[1000000000000000000000,0.0000001,0]",
        );
        check(json!(-0.0), "0");
        check(
            json!({"a\"": "\u{1}", "b": []}),
            r#"{"a\"":"\u0001","b":[]}"#,
        );
    }

    #[test]
    fn debug_hides_secrets() {
        let inner = Value::named([("token", Value::text("hunter2").sensitive_if(true))]);
        assert!(inner.has_secrets() && !inner.is_sensitive);
        assert_eq!(format!("{inner:?}"), "[struct with secrets]");
        assert_eq!(format!("{:?}", value(&json!([1]))), "[1]");
    }
}
