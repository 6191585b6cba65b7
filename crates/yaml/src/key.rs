use super::limits::{Stop, warn};
use super::mapping::Mapping;
use super::node::{Entry, Kind, Node};
use super::tag::Tagged;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::sync::Arc;

/// A key whose value is not read yet.
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
        // As in GitLab, quotes keep `<<` a merge key, but a string tag does not.
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

/// Adds an entry; of two equal keys the last counts, with a warning that shows both.
pub(super) fn insert(
    entries: &mut Mapping,
    key: Key,
    value: Arc<Node>,
    collected: &mut Vec<Diagnostic>,
) {
    let span = key.span;
    let (text, entry) = key.into_entry(value);
    let Some(before) = entries.insert(Arc::clone(&text), entry) else {
        return;
    };
    // Replacing a merged key is intended and needs no warning.
    if !before.merged {
        warn(collected, || {
            let message = format!("`{text}` is given twice; the last one counts");
            Diagnostic::warning("duplicate-key", message)
                .at(span)
                .with_related(before.key_span, "first given here")
        });
    }
}

/// Applies a merge key: its entries replace earlier keys, and later keys replace them.
///
/// Of several mappings the first has priority. As in GitLab, `<<` is an ordinary key if its value
/// is not a mapping, or if it is an alias of a list, even of mappings.
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
