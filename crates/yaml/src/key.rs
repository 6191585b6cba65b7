use super::findings::warn;
use super::loader::Stop;
use super::mapping::Mapping;
use super::node::{Entry, Kind, Node};
use super::tag::Tagged;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::sync::Arc;

/// A key whose value was not read yet.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) text: Arc<str>,
    is_text: bool,
    is_merge: bool,
    pub(super) span: Span,
}

impl Key {
    pub(super) fn of(kind: Kind, tagged: Tagged, span: Span) -> Result<Self, Stop> {
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
        // Quotes leave `<<` what it is, but a tag that says it is text does not, as in GitLab.
        let is_merge = &*text == "<<" && tagged != Tagged::Text;
        Ok(Self {
            text,
            is_text,
            is_merge,
            span,
        })
    }

    /// Returns whether the key merges its value into the mapping.
    pub(super) fn is_merge(&self) -> bool {
        self.is_merge
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
        warn(findings, || {
            let message = format!("`{text}` is given twice; the last one counts");
            Diagnostic::warning("duplicate-key", message)
                .at(span)
                .with_related(before.key_span, "first given here")
        });
    }
}

/// Applies a merge key: what it brings replaces the keys before it, and later keys replace that.
///
/// Of several mappings the first has priority. A value that is no mapping makes `<<` an ordinary
/// key, as in GitLab, and so does an alias of a list, even of one of mappings.
pub(super) fn merge(entries: &mut Mapping, key: Key, value: Arc<Node>, is_alias: bool) {
    let sources: Option<Vec<&Mapping>> = match &value.kind {
        Kind::Mapping(source) => Some(vec![source]),
        Kind::Sequence(items) if !is_alias => items.iter().map(|item| item.as_mapping()).collect(),
        _ => None,
    };
    let Some(sources) = sources else {
        let (text, entry) = key.into_entry(value);
        entries.insert(text, entry);
        return;
    };
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
