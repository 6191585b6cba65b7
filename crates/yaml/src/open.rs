use super::Limits;
use super::key::{Key, insert, merge};
use super::loader::Stop;
use super::mapping::Mapping;
use super::node::{Kind, Node};
use super::tag::{Tagged, no_reference, reference};
use crate::diagnostic::Diagnostic;
use crate::source::{Span, clamp};
use std::sync::Arc;

/// A list or mapping whose end was not read yet.
#[derive(Debug)]
pub(super) struct Open<'t> {
    /// The name of its anchor.
    pub(super) anchor: Option<&'t str>,
    tag: Tagged,
    /// Where it starts, and where what was read of it ends.
    pub(super) span: Span,
    /// Where its opening sign ends, if it has one.
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

/// What lists and mappings grow in until they are complete: there are never more of these than are
/// open at a time, and what is kept of each is as large as it needs to be.
#[derive(Debug, Default)]
pub(super) struct Room {
    items: Vec<Vec<Arc<Node>>>,
    entries: Vec<Mapping>,
}

impl<'t> Open<'t> {
    pub(super) fn sequence(
        anchor: Option<&'t str>,
        tag: Tagged,
        span: Span,
        room: &mut Room,
    ) -> Self {
        let items = room.items.pop().unwrap_or_default();
        Self::new(anchor, tag, span, Collection::Sequence(items))
    }

    pub(super) fn mapping(
        anchor: Option<&'t str>,
        tag: Tagged,
        span: Span,
        room: &mut Room,
    ) -> Self {
        let entries = room.entries.pop().unwrap_or_default();
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
        let sign = opening.and_then(|at| text.as_bytes().get(at));
        self.opening > self.span.start && matches!(sign, Some(b'[' | b'{'))
    }

    /// Takes a mapping's next key.
    pub(super) fn add_key(&mut self, next: Key) {
        self.span.end = self.span.end.max(next.span.end);
        if let Collection::Mapping { key, .. } = &mut self.collection {
            *key = Some(next);
        }
    }

    /// Returns whether a mapping's next key is to come; what a key may hold depends on its meaning.
    pub(super) fn is_at_key(&self) -> bool {
        matches!(self.collection, Collection::Mapping { key: None, .. })
    }

    /// Adds what was read next in it.
    pub(super) fn add(
        &mut self,
        node: Arc<Node>,
        span: Span,
        limits: &Limits,
        findings: &mut Vec<Diagnostic>,
    ) -> Result<(), Stop> {
        self.weight = self.weight.saturating_add(node.weight());
        if self.weight > limits.nodes {
            let message = format!(
                "the aliases here stand for more than {} values",
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
                    // An alias stands elsewhere than what it names.
                    let is_alias = node.span != span;
                    merge(entries, key, node, is_alias);
                }
                Some(key) => insert(entries, key, node, findings),
            },
        }
        Ok(())
    }

    /// Returns the whole of it, now that its end was read; `end` is behind its closing sign.
    pub(super) fn close(self, end: Option<usize>, room: &mut Room) -> Result<Node, Stop> {
        let span = Span {
            end: end.map_or(self.span.end, clamp),
            ..self.span
        };
        let kind = match (self.collection, self.tag) {
            (Collection::Sequence(items), Tagged::Reference) => reference(&items, span)?,
            (Collection::Sequence(mut items), _) => {
                #[expect(
                    clippy::drain_collect,
                    reason = "the list gets the room it needs, and the buffer is used again"
                )]
                let kind = Kind::Sequence(items.drain(..).collect());
                room.items.push(items);
                kind
            }
            (Collection::Mapping { .. }, Tagged::Reference) => {
                return Err(no_reference(span).into());
            }
            (Collection::Mapping { mut entries, .. }, _) => {
                let kind = Kind::Mapping(entries.take());
                room.entries.push(entries);
                kind
            }
        };
        Ok(Node::new(kind, span))
    }
}
