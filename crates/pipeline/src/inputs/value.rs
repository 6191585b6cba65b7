use super::passed_inputs;
use super::text::text_of;
use serde_json::Value;
use std::sync::Arc;
use yaml::{Kind, Node};

/// The maximum number of options of an input or of one of its rules.
pub(super) const MOST_OPTIONS: usize = 50;

/// The types of inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum InputKind {
    #[default]
    String,
    Number,
    Boolean,
    Array,
}

impl InputKind {
    pub(super) const ALL: [Self; 4] = [Self::Array, Self::Boolean, Self::Number, Self::String];

    /// Returns its name in a file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
        }
    }
}

/// The role of a checked value, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Default,
    Provided,
}

impl Role {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Provided => "provided",
        }
    }
}

impl InputKind {
    /// Converts a value to the type, if possible.
    ///
    /// For strings that is the value's text form; for other types, text is parsed as JSON.
    pub(super) fn coerce(self, value: &Arc<Node>) -> Arc<Node> {
        match (self, &value.kind) {
            (Self::String, Kind::String(_)) => Arc::clone(value),
            (Self::String, _) => match text_of(value) {
                Some(text) => Arc::new(Node::new(Kind::String(text.into()), value.span)),
                None => Arc::clone(value),
            },
            (_, Kind::String(text)) => match serde_json::from_str::<Value>(text) {
                Ok(json) => passed_inputs::node(&json, value.span),
                Err(_) => Arc::clone(value),
            },
            _ => Arc::clone(value),
        }
    }

    /// Returns whether a value has the type.
    pub(super) fn is_type_of(self, value: &Node) -> bool {
        match self {
            Self::String => matches!(value.kind, Kind::String(_)),
            Self::Number => matches!(value.kind, Kind::Int(_) | Kind::Float(_)),
            Self::Boolean => matches!(value.kind, Kind::Bool(_)),
            Self::Array => matches!(value.kind, Kind::Sequence(_)),
        }
    }
}

/// Returns whether a value is one of the options: text by its text form, numbers exactly.
pub(super) fn is_option(option: &Node, value: &Node) -> bool {
    match (&option.kind, &value.kind) {
        (_, Kind::String(text)) => text_of(option).is_some_and(|option| option == **text),
        (Kind::Int(option), Kind::Int(value)) => option == value,
        (Kind::Int(whole), Kind::Float(float)) | (Kind::Float(float), Kind::Int(whole)) => {
            is_same_number(whole.value(), *float)
        }
        (Kind::Float(option), Kind::Float(value)) => option.total_cmp(value).is_eq(),
        _ => false,
    }
}

fn is_same_number(whole: i128, float: f64) -> bool {
    float.fract() == 0.0 && format!("{float:.0}") == whole.to_string()
}
