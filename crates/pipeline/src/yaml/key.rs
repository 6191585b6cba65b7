use super::loader::Stop;
use super::mapping::Mapping;
use super::node::{Entry, Kind, Node};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::sync::Arc;

/// A key whose value was not read yet.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) text: Arc<str>,
    is_text: bool,
    pub(super) span: Span,
}

impl Key {
    pub(super) fn of(kind: Kind, span: Span) -> Result<Self, Stop> {
        let is_text = matches!(kind, Kind::String(_));
        let text = match kind {
            Kind::String(text) => text,
            kind => {
                let node = Node::new(kind, span);
                node.to_scalar_text().map(Arc::from).ok_or_else(|| {
                    let message = format!("a key must be a scalar, not {}", node.kind_name());
                    Diagnostic::error("invalid-key", message).at(span)
                })?
            }
        };
        Ok(Self {
            text,
            is_text,
            span,
        })
    }

    fn into_entry(self, value: Arc<Node>) -> (Arc<str>, Entry) {
        let entry = Entry {
            key_span: self.span,
            key_is_text: self.is_text,
            merged: false,
            value,
        };
        (self.text, entry)
    }
}

/// Adds a key; of two equal ones the last counts, with a warning that shows both.
pub(super) fn insert(
    entries: &mut Mapping,
    key: Key,
    value: Arc<Node>,
    findings: &mut Vec<Diagnostic>,
) {
    let span = key.span;
    let (text, entry) = key.into_entry(value);
    let Some(before) = entries.insert(Arc::clone(&text), entry) else {
        return;
    };
    // A key that a merge brought in stands outside this mapping; replacing it is the point.
    if !before.merged {
        let message = format!("`{text}` is given twice; the last one counts");
        findings.push(
            Diagnostic::warning("duplicate-key", message)
                .at(span)
                .with_related(before.key_span, "first given here"),
        );
    }
}

/// Applies a merge key: what it brings replaces the keys before it, and later keys replace that.
///
/// Of several mappings the first has priority. A value that is no mapping makes `<<` an ordinary
/// key, as in GitLab.
pub(super) fn merge(entries: &mut Mapping, key: Key, value: Arc<Node>) {
    let sources: Vec<&Mapping> = match &value.kind {
        Kind::Mapping(source) => vec![source],
        Kind::Sequence(items) => items.iter().filter_map(|item| item.as_mapping()).collect(),
        _ => Vec::new(),
    };
    let expected = value.as_sequence().map_or(1, <[_]>::len);
    if sources.len() != expected {
        let (text, entry) = key.into_entry(value);
        entries.insert(text, entry);
        return;
    }
    for source in sources.into_iter().rev() {
        for (text, entry) in source {
            let merged = Entry {
                merged: true,
                ..entry.clone()
            };
            entries.insert(Arc::clone(text), merged);
        }
    }
}
