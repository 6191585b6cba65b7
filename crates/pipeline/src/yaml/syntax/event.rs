use super::cursor::Mark;
use std::borrow::Cow;

/// A step in building a tree.
#[derive(Debug, Clone)]
pub(in crate::yaml) struct Event<'t> {
    pub(in crate::yaml) kind: EventKind<'t>,
    /// The name behind `&`.
    pub(in crate::yaml) anchor: Option<&'t str>,
    pub(in crate::yaml) tag: Option<Tag<'t>>,
    pub(in crate::yaml) start: Mark,
    /// The byte behind it; of a list or mapping, behind what opens it.
    pub(in crate::yaml) end: usize,
}

/// The kinds of events.
#[derive(Debug, Clone)]
pub(in crate::yaml) enum EventKind<'t> {
    Alias(&'t str),
    Scalar {
        text: Cow<'t, str>,
        is_plain: bool,
    },
    SequenceStart,
    MappingStart,
    /// The end of the innermost list or mapping.
    End,
    /// The end of the document.
    DocumentEnd,
}

/// A tag with its handle resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::yaml) struct Tag<'t> {
    pub(in crate::yaml) prefix: Cow<'t, str>,
    pub(in crate::yaml) suffix: Cow<'t, str>,
}
