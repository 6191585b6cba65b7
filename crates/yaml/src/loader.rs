use super::key::Key;
use super::limits::{Limits, Stop, refuse};
use super::node::{Kind, Node};
use super::open_collection::{Buffers, OpenCollection};
use super::positions::Positions;
use super::scalar::{self, Scalar};
use super::syntax::{Event, EventKind, Events, Mark, SyntaxError};
use super::tag::{Tagged, invalid_reference};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::suggest::did_you_mean;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The maximum length of a shared text; longer ones rarely occur twice.
const LONGEST_SHARED: usize = 24;

/// Builds the tree of the first document in a part of a text.
pub(super) struct Loader<'t> {
    events: Events<'t>,
    text: &'t str,
    positions: Positions,
    limits: &'t Limits,
    /// Anchored nodes by name; `None` while the node is being read.
    anchors: HashMap<&'t str, Option<Arc<Node>>>,
    open: Vec<OpenCollection<'t>>,
    buffers: Buffers,
    shared_texts: SharedTexts<'t>,
}

impl<'t> Loader<'t> {
    pub(super) fn new(file: FileId, text: &'t str, part: Range<usize>, limits: &'t Limits) -> Self {
        let positions = Positions::new(file, text, part.start);
        Self {
            events: Events::new(text, part, positions.first_line()),
            text,
            positions,
            limits,
            anchors: HashMap::new(),
            open: Vec::new(),
            buffers: Buffers::default(),
            shared_texts: SharedTexts::default(),
        }
    }

    /// Returns the document's root; `None` when there is no document.
    pub(super) fn load(
        &mut self,
        collected: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Node>>, Stop> {
        let first = self.events.first();
        let Some(mut event) = first.map_err(|error| self.syntax_error(&error))? else {
            return Ok(None);
        };
        let mut root = None;
        loop {
            if matches!(event.kind, EventKind::DocumentEnd) {
                return Ok(root);
            }
            if let Some(node) = self.read(event, collected)? {
                root = Some(node);
            }
            event = self
                .events
                .next_event()
                .map_err(|error| self.syntax_error(&error))?;
        }
    }

    /// Returns whether there is more text after the document.
    pub(super) fn has_more(&mut self) -> bool {
        self.events.has_more()
    }

    /// Handles an event; returns the root when it is complete.
    fn read(
        &mut self,
        event: Event<'t>,
        collected: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Node>>, Stop> {
        let span = self.positions.span(event.start, event.end);
        let tagged = Tagged::of(event.tag.as_ref(), span, collected);
        match event.kind {
            EventKind::Scalar { text, is_plain } => {
                if event.anchor.is_none()
                    && let Some(open) = self.open.last_mut()
                    && open.is_at_key()
                {
                    let kind = scalar_kind(text, is_plain, tagged, span, &mut self.shared_texts)?;
                    open.add_key(Key::of(kind, tagged, span)?);
                    return Ok(None);
                }
                if text.contains('\0') {
                    refuse(collected, || nul_character(span));
                }
                let kind = scalar_kind(text, is_plain, tagged, span, &mut self.shared_texts)?;
                let node = Arc::new(Node::new(kind, span));
                self.remember(event.anchor, &node);
                self.add(node, span, collected)
            }
            EventKind::Alias(name) => {
                let node = self.aliased(name, span)?;
                self.add(node, span, collected)
            }
            EventKind::SequenceStart => {
                let open = OpenCollection::sequence(event.anchor, tagged, span, &mut self.buffers);
                self.start(open)?;
                Ok(None)
            }
            EventKind::MappingStart => {
                let open = OpenCollection::mapping(event.anchor, tagged, span, &mut self.buffers);
                self.start(open)?;
                Ok(None)
            }
            EventKind::End => {
                let node = self.end(event.end)?;
                let span = node.span;
                self.add(node, span, collected)
            }
            EventKind::DocumentEnd => Ok(None),
        }
    }

    /// Adds a node to the innermost open collection; returns it when it is the root.
    fn add(
        &mut self,
        node: Arc<Node>,
        span: Span,
        collected: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Node>>, Stop> {
        let Some(open) = self.open.last_mut() else {
            return Ok(Some(node));
        };
        open.add(node, span, self.limits, collected)?;
        Ok(None)
    }

    fn start(&mut self, open: OpenCollection<'t>) -> Result<(), Stop> {
        if self.open.len() >= usize::from(self.limits.depth) {
            return Err(too_deep(open.span, self.limits).into());
        }
        if let Some(name) = open.anchor {
            self.anchors.insert(name, None);
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<Arc<Node>, Stop> {
        let open = self.open.pop().expect("starts and ends are balanced");
        let anchor = open.anchor;
        // A flow collection ends with its bracket; the end of a block is known only from what
        // follows.
        let closing = self.text.as_bytes().get(end.wrapping_sub(1));
        let is_closed = open.is_flow(self.text) && matches!(closing, Some(b']' | b'}'));
        let node = Arc::new(open.close(is_closed.then_some(end), &mut self.buffers)?);
        if usize::from(node.depth()) + self.open.len() > usize::from(self.limits.depth) {
            return Err(too_deep(node.span, self.limits).into());
        }
        self.remember(anchor, &node);
        Ok(node)
    }

    fn remember(&mut self, anchor: Option<&'t str>, node: &Arc<Node>) {
        if let Some(name) = anchor {
            self.anchors.insert(name, Some(Arc::clone(node)));
        }
    }

    fn aliased(&self, name: &str, span: Span) -> Result<Arc<Node>, Stop> {
        match self.anchors.get(name) {
            Some(Some(node)) => Ok(Arc::clone(node)),
            Some(None) => {
                let message = "an alias refers to an anchor that contains it";
                Err(Diagnostic::error("anchor-cycle", message).at(span).into())
            }
            None => {
                let mut known: Vec<&str> = self.anchors.keys().copied().collect();
                known.sort_unstable();
                let help = did_you_mean(name, known).unwrap_or_else(|| {
                    format!("define the anchor `&{name}` before it, in the same file")
                });
                let message = format!("unknown alias: {name}");
                let error = Diagnostic::error("unknown-alias", message).at(span);
                Err(error.with_help(help).into())
            }
        }
    }

    fn syntax_error(&self, error: &SyntaxError) -> Diagnostic {
        let at = |mark: Mark| {
            let rest = &self.text[mark.offset.min(self.text.len())..];
            let width = rest.chars().next().map_or(0, char::len_utf8);
            self.positions.span(mark, mark.offset + width)
        };
        let span = at(error.mark);
        let message = format!("invalid YAML: {}", error.problem);
        let mut diagnostic = Diagnostic::error("yaml-syntax", message).at(span);
        if let Some((what, start)) = error.context
            && start.line != error.mark.line
        {
            diagnostic = diagnostic.with_related(at(start), what);
        }
        diagnostic.with_help(self.help(error))
    }

    /// Returns help for common mistakes.
    fn help(&self, error: &SyntaxError) -> Option<String> {
        let offset = error.mark.offset.min(self.text.len());
        let line_start = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let indent = &line[..line.len() - line.trim_start().len()];
        if indent.contains('\t') {
            return Some("YAML is indented with spaces; this line has a tab".to_owned());
        }
        let help = match error.problem {
            "mapping values are not allowed in this context" => {
                "put a text that contains `: ` in quotes, or check the indentation"
            }
            "found character that cannot start any token" => {
                "put a text that starts with this character in quotes"
            }
            "could not find expected ':'" => "a key ends with `:` and a space",
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// Shares equal short texts, since keywords occur in every job.
#[derive(Debug, Default)]
struct SharedTexts<'t> {
    known: HashMap<&'t str, Arc<str>>,
}

impl<'t> SharedTexts<'t> {
    /// Returns a text of the file, shared with equal ones.
    fn share(&mut self, text: &'t str) -> Arc<str> {
        if text.len() > LONGEST_SHARED {
            return text.into();
        }
        Arc::clone(self.known.entry(text).or_insert_with(|| text.into()))
    }
}

/// Returns the value of a scalar, determined by its tag or else by its text.
fn scalar_kind<'t>(
    text: Cow<'t, str>,
    is_plain: bool,
    tagged: Tagged,
    span: Span,
    shared_texts: &mut SharedTexts<'t>,
) -> Result<Kind, Stop> {
    let is_text = match tagged {
        Tagged::Reference => return Err(invalid_reference(span).into()),
        Tagged::Text => true,
        Tagged::None => !is_plain,
        // As in GitLab's loader, with any other tag even quoted text is resolved.
        Tagged::Other => false,
    };
    let resolved = if is_text {
        Scalar::Text
    } else {
        scalar::resolve(&text)
    };
    if resolved == Scalar::Text {
        return Ok(Kind::String(match text {
            Cow::Borrowed(text) => shared_texts.share(text),
            Cow::Owned(text) => text.into(),
        }));
    }
    resolved.into_kind(&text).ok_or_else(|| {
        let message = format!("`{text}` is a date, which GitLab does not accept");
        let help = format!("write it as text: \"{text}\"");
        let error = Diagnostic::error("yaml-date", message).at(span);
        error.with_help(help).into()
    })
}

/// Scripts, variables, paths and arguments cannot contain this character, so a job with it could
/// only fail.
fn nul_character(span: Span) -> Diagnostic {
    let message = "the text contains a NUL character, which cannot be passed to a process";
    Diagnostic::error("nul-character", message).at(span)
}

fn too_deep(span: Span, limits: &Limits) -> Diagnostic {
    let message = format!("values are nested deeper than {} levels", limits.depth);
    Diagnostic::error("nested-too-deep", message).at(span)
}
