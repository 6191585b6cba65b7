use super::definition::{InputDefinition, InputKind};
use super::given;
use super::text::text_of;
use serde_json::Value;
use std::sync::Arc;
use yaml::{Kind, Node};

/// The role of a checked value, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Default,
    Provided,
}

impl Role {
    fn word(self) -> &'static str {
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
                Ok(json) => given::node(&json, value.span),
                Err(_) => Arc::clone(value),
            },
            _ => Arc::clone(value),
        }
    }

    fn fits(self, value: &Node) -> bool {
        match self {
            Self::String => matches!(value.kind, Kind::String(_)),
            Self::Number => matches!(value.kind, Kind::Int(_) | Kind::Float(_)),
            Self::Boolean => matches!(value.kind, Kind::Bool(_)),
            Self::Array => matches!(value.kind, Kind::Sequence(_)),
        }
    }
}

impl InputDefinition {
    /// Returns the problems of a coerced value; `options` are the effective ones.
    pub(super) fn problems(
        &self,
        value: &Node,
        role: Role,
        options: Option<&[Arc<Node>]>,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let role = role.word();
        if !self.kind.fits(value) {
            let article = if self.kind == InputKind::Array {
                "an"
            } else {
                "a"
            };
            let kind = self.kind.name();
            problems.push(format!("{role} value is not {article} {kind}"));
            return problems;
        }
        if let Some(options) = options
            && !options.iter().any(|option| is_option(option, value))
        {
            let shown = text_of(value).unwrap_or_default();
            problems.push(format!(
                "`{shown}` cannot be used because it is not in the list of allowed options"
            ));
        }
        if let (Some(regex), Some(text)) = (&self.regex, value.as_str())
            && !regex.is_match(text)
        {
            problems.push(format!(
                "{role} value does not match required RegEx pattern"
            ));
        }
        problems
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
