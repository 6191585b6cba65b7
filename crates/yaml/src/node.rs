use super::mapping::Mapping;
use crate::source::Span;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A value of a pipeline file with its location.
///
/// Nodes are shared through [`Arc`]: an alias, a merge key or `extends` adds a handle, not a copy.
#[derive(Debug, Clone)]
pub struct Node {
    /// The kind, with its content.
    pub kind: Kind,
    /// The location; for an aliased node, that of its anchor.
    pub span: Span,
    weight: u32,
    depth: u16,
    has_references: bool,
}

/// The kinds of values.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Nothing: `null`, `~` or no text at all.
    Null,
    /// A boolean; in YAML 1.1 also `yes`, `no`, `on` and `off`.
    Bool(bool),
    /// An integer.
    Int(Integer),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// A list.
    Sequence(Vec<Arc<Node>>),
    /// Keys and values.
    Mapping(Mapping),
    /// `!reference [key, ...]`, to be replaced by the value at that path.
    Reference(Vec<Arc<str>>),
}

/// An entry of a [`Mapping`].
#[derive(Debug, Clone)]
pub struct Entry {
    /// The location of the key.
    pub key_span: Span,
    /// Whether the key is a string; a bare `true` or `1` is not, which matters for job names.
    pub key_is_text: bool,
    /// Whether it comes from a merge key.
    pub merged: bool,
    /// The value.
    pub value: Arc<Node>,
}

impl Node {
    /// Returns a node of this kind, with weight and depth computed from its children.
    pub fn new(kind: Kind, span: Span) -> Self {
        let mut node = Self {
            weight: 1,
            depth: 0,
            has_references: matches!(kind, Kind::Reference(_)),
            kind: Kind::Null,
            span,
        };
        match &kind {
            Kind::Sequence(items) => items.iter().for_each(|item| node.add_costs(item)),
            Kind::Mapping(entries) => {
                let values = entries.values().map(|entry| &entry.value);
                values.for_each(|value| node.add_costs(value));
            }
            _ => {}
        }
        node.kind = kind;
        node
    }

    fn add_costs(&mut self, child: &Self) {
        self.weight = self.weight.saturating_add(child.weight);
        self.depth = self.depth.max(child.depth.saturating_add(1));
        self.has_references |= child.has_references;
    }

    /// Returns the number of nodes in this tree, counting each alias as a copy.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the number of levels below this node.
    pub fn depth(&self) -> u16 {
        self.depth
    }

    /// Returns whether this node or a descendant is a `!reference`.
    pub fn has_references(&self) -> bool {
        self.has_references
    }

    /// Returns whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// Returns whether GitLab calls this blank: null, false, or empty text, list or mapping.
    pub fn is_blank(&self) -> bool {
        match &self.kind {
            Kind::Null | Kind::Bool(false) => true,
            Kind::String(text) => text.trim().is_empty(),
            Kind::Sequence(items) => items.is_empty(),
            Kind::Mapping(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// Returns the text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items, if this is a list.
    pub fn as_sequence(&self) -> Option<&[Arc<Self>]> {
        match &self.kind {
            Kind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries, if this is a mapping.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.kind {
            Kind::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value under `key`, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Arc<Self>> {
        self.as_mapping()?.get(key).map(|entry| &entry.value)
    }

    /// Returns a scalar as GitLab converts it to text for a variable; null becomes empty text.
    pub fn to_scalar_text(&self) -> Option<String> {
        match &self.kind {
            Kind::Null => Some(String::new()),
            Kind::Bool(flag) => Some(flag.to_string()),
            Kind::Int(number) => Some(number.to_string()),
            Kind::Float(number) => Some(float_text(*number)),
            Kind::String(text) => Some(text.to_string()),
            Kind::Sequence(_) | Kind::Mapping(_) | Kind::Reference(_) => None,
        }
    }

    /// Returns the name of the kind, for messages.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) | Kind::Float(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Sequence(_) => "an array",
            Kind::Mapping(_) => "a hash",
            Kind::Reference(_) => "a reference",
        }
    }

    /// Returns the value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null | Kind::Reference(_) => Value::Null,
            Kind::Bool(flag) => Value::Bool(*flag),
            Kind::Int(number) => i64::try_from(number.value())
                .map_or_else(|_| Value::String(number.to_string()), Value::from),
            Kind::Float(number) => Value::from(*number),
            Kind::String(text) => Value::String(text.to_string()),
            Kind::Sequence(items) => items.iter().map(|item| item.to_json()).collect(),
            Kind::Mapping(entries) => entries
                .iter()
                .map(|(key, entry)| (key.to_string(), entry.value.to_json()))
                .collect(),
        }
    }
}

/// Formats a float as Ruby does, because jobs receive this text.
fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}Infinity");
    }
    let magnitude = number.abs();
    if number == 0.0 || (1e-4..1e15).contains(&magnitude) {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ("-", exponent),
        None => ("+", exponent),
    };
    format!("{digits}{point}e{sign}{exponent:0>2}")
}

/// An integer of a pipeline file.
///
/// It is stored in two halves, because an `i128` would raise the alignment, and thus the size, of
/// every node to a multiple of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer {
    high: i64,
    low: u64,
}

impl Integer {
    /// Returns the number.
    pub fn value(self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }
}

impl<N: Into<i128>> From<N> for Integer {
    fn from(number: N) -> Self {
        let bytes = number.into().to_be_bytes();
        let (halves, _) = bytes.as_chunks();
        Self {
            high: i64::from_be_bytes(halves[0]),
            low: u64::from_be_bytes(halves[1]),
        }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_takes_no_more_than_64_bytes() {
        // A pipeline of ten thousand jobs has several hundred thousand nodes.
        assert!(size_of::<Node>() <= 64, "{} bytes", size_of::<Node>());
    }

    #[test]
    fn floats_print_as_in_ruby() {
        let cases = [
            (1.5, "1.5"),
            (2.0, "2.0"),
            (-0.0, "-0.0"),
            (123_456_789_012_345.0, "123456789012345.0"),
            (1e15, "1.0e+15"),
            (1e20, "1.0e+20"),
            (1.25e-7, "1.25e-07"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (number, expect) in cases {
            assert_eq!(float_text(number), expect);
        }
    }

    #[test]
    fn conversion_is_lossless() {
        for number in [0, 1, -1, i128::from(u64::MAX), i128::MIN, i128::MAX] {
            assert_eq!(Integer::from(number).value(), number);
        }
        assert_eq!(Integer::from(-7).to_string(), "-7");
    }
}
