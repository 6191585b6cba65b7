use super::loader::Stop;
use super::node::{Kind, Node};
use super::syntax::Tag;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::sync::Arc;

/// What a tag asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tagged {
    /// There is none.
    None,
    Text,
    Reference,
    /// Nothing that is known here.
    Other,
}

impl Tagged {
    pub(super) fn of(tag: Option<&Tag<'_>>, span: Span, findings: &mut Vec<Diagnostic>) -> Self {
        let Some(tag) = tag else {
            return Self::None;
        };
        match (tag.prefix.as_ref(), tag.suffix.as_ref()) {
            ("!", "reference") => Self::Reference,
            ("tag:yaml.org,2002:", "str") | ("", "tag:yaml.org,2002:str") => Self::Text,
            ("", "!")
            | ("tag:yaml.org,2002:", "int" | "float" | "bool" | "null" | "seq" | "map") => {
                Self::Other
            }
            (prefix, suffix) => {
                let message = format!("the tag `{prefix}{suffix}` is ignored");
                findings.push(Diagnostic::warning("unknown-tag", message).at(span));
                Self::Other
            }
        }
    }
}

/// Returns what a tagged list refers to.
pub(super) fn reference(items: &[Arc<Node>], span: Span) -> Result<Kind, Stop> {
    let path: Option<Vec<Arc<str>>> = items
        .iter()
        .map(|item| match &item.kind {
            Kind::String(text) => Some(Arc::clone(text)),
            _ => None,
        })
        .collect();
    match path {
        Some(path) if !path.is_empty() => Ok(Kind::Reference(path)),
        _ => Err(no_reference(span).into()),
    }
}

pub(super) fn no_reference(span: Span) -> Diagnostic {
    let message = "`!reference` needs a list of keys, for example `!reference [.setup, script]`";
    Diagnostic::error("invalid-reference", message).at(span)
}
