use super::cursor::Mark;
use std::borrow::Cow;

/// A step in building a tree.
#[derive(Debug, Clone)]
pub(crate) struct Event<'t> {
    pub(crate) kind: EventKind<'t>,
    /// The name behind `&`.
    pub(crate) anchor: Option<&'t str>,
    pub(crate) tag: Option<Tag<'t>>,
    pub(crate) start: Mark,
    /// The byte behind it; of a list or mapping, behind what opens it.
    pub(crate) end: usize,
}

/// The kinds of events.
#[derive(Debug, Clone)]
pub(crate) enum EventKind<'t> {
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
pub(crate) struct Tag<'t> {
    pub(crate) prefix: Cow<'t, str>,
    pub(crate) suffix: Cow<'t, str>,
}
