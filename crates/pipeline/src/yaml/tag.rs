use super::loader::Stop;
use super::node::{Kind, Node};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use saphyr_parser::Tag;
use std::sync::Arc;

/// What a tag asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tagged {
    No,
    Text,
    Reference,
}

impl Tagged {
    pub(super) fn of(tag: Option<&Tag>, span: Span, findings: &mut Vec<Diagnostic>) -> Self {
        let Some(tag) = tag else {
            return Self::No;
        };
        match (tag.handle.as_str(), tag.suffix.as_str()) {
            ("!", "reference") => Self::Reference,
            ("tag:yaml.org,2002:", "str") | ("" | "!", "" | "!") => Self::Text,
            ("tag:yaml.org,2002:", "int" | "float" | "bool" | "null" | "seq" | "map") => Self::No,
            _ => {
                let message = format!("the tag `{tag}` is ignored");
                findings.push(Diagnostic::warning("unknown-tag", message).at(span));
                Self::No
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
