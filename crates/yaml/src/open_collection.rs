use super::key::{Key, insert, merge};
use super::limits::{Limits, Stop};
use super::mapping::Mapping;
use super::node::{Kind, Node};
use super::tag::{Tagged, invalid_reference, reference};
use crate::diagnostic::Diagnostic;
use crate::source::{Span, clamp};
use std::sync::Arc;

/// A list or mapping whose end is not read yet.
#[derive(Debug)]
pub(super) struct OpenCollection<'t> {
    /// The name of its anchor.
    pub(super) anchor: Option<&'t str>,
    tag: Tagged,
    /// Its start, and the end of what was read so far.
    pub(super) span: Span,
    /// The end of its opening bracket, if it has one.
    opening: u32,
    weight: u32,
    collection: Collection,
}

#[derive(Debug)]
enum Collection {
    Sequence(Vec<Arc<Node>>),
    Mapping {
        entries: Mapping,
        /// The key whose value comes next.
        key: Option<Key>,
    },
}

/// Reusable buffers in which lists and mappings grow until they are complete, so that complete ones
/// have no spare capacity. There are never more buffers than collections open at a time.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    items: Vec<Vec<Arc<Node>>>,
    entries: Vec<Mapping>,
}

impl<'t> OpenCollection<'t> {
    pub(super) fn sequence(
        anchor: Option<&'t str>,
        tag: Tagged,
        span: Span,
        buffers: &mut Buffers,
    ) -> Self {
        let items = buffers.items.pop().unwrap_or_default();
        Self::new(anchor, tag, span, Collection::Sequence(items))
    }

    pub(super) fn mapping(
        anchor: Option<&'t str>,
        tag: Tagged,
        span: Span,
        buffers: &mut Buffers,
    ) -> Self {
        let entries = buffers.entries.pop().unwrap_or_default();
        let key = None;
        Self::new(anchor, tag, span, Collection::Mapping { entries, key })
    }

    fn new(anchor: Option<&'t str>, tag: Tagged, span: Span, collection: Collection) -> Self {
        Self {
            anchor,
            tag,
            span,
            opening: span.end,
            weight: 1,
            collection,
        }
    }

    /// Returns whether it has brackets or braces.
    pub(super) fn is_flow(&self, text: &str) -> bool {
        let opening = (self.opening as usize).checked_sub(1);
        let bracket = opening.and_then(|at| text.as_bytes().get(at));
        self.opening > self.span.start && matches!(bracket, Some(b'[' | b'{'))
    }

    /// Sets a mapping's next key.
    pub(super) fn add_key(&mut self, next: Key) {
        self.span.end = self.span.end.max(next.span.end);
        if let Collection::Mapping { key, .. } = &mut self.collection {
            *key = Some(next);
        }
    }

    /// Returns whether a mapping's key is next; the content of keys is checked differently from
    /// values.
    pub(super) fn is_at_key(&self) -> bool {
        matches!(self.collection, Collection::Mapping { key: None, .. })
    }

    /// Adds the next node.
    pub(super) fn add(
        &mut self,
        node: Arc<Node>,
        span: Span,
        limits: &Limits,
        collected: &mut Vec<Diagnostic>,
    ) -> Result<(), Stop> {
        self.weight = self.weight.saturating_add(node.weight());
        if self.weight > limits.nodes {
            let message = format!(
                "the aliases here expand to more than {} values",
                limits.nodes
            );
            return Err(Diagnostic::error("alias-bomb", message).at(span).into());
        }
        self.span.end = self.span.end.max(span.end);
        match &mut self.collection {
            Collection::Sequence(items) => items.push(node),
            Collection::Mapping { entries, key } => match key.take() {
                None => *key = Some(Key::of(node.kind.clone(), Tagged::None, span)?),
                Some(key) if key.is_merge() => {
                    // An alias has another location than its node.
                    let is_alias = node.span != span;
                    merge(entries, key, node, is_alias);
                }
                Some(key) => insert(entries, key, node, collected),
            },
        }
        Ok(())
    }

    /// Completes the collection; `end` is the end of its closing bracket.
    pub(super) fn close(self, end: Option<usize>, buffers: &mut Buffers) -> Result<Node, Stop> {
        let span = Span {
            end: end.map_or(self.span.end, clamp),
            ..self.span
        };
        let kind = match (self.collection, self.tag) {
            (Collection::Sequence(items), Tagged::Reference) => reference(&items, span)?,
            (Collection::Sequence(mut items), _) => {
                #[expect(
                    clippy::drain_collect,
                    reason = "the list gets the capacity it needs, and the buffer is used again"
                )]
                let kind = Kind::Sequence(items.drain(..).collect());
                buffers.items.push(items);
                kind
            }
            (Collection::Mapping { .. }, Tagged::Reference) => {
                return Err(invalid_reference(span).into());
            }
            (Collection::Mapping { mut entries, .. }, _) => {
                let kind = Kind::Mapping(entries.take());
                buffers.entries.push(entries);
                kind
            }
        };
        Ok(Node::new(kind, span))
    }
}
