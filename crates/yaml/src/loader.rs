use super::Limits;
use super::findings::refuse;
use super::key::Key;
use super::names::Names;
use super::node::{Kind, Node};
use super::open::{Open, Room};
use super::place::Places;
use super::scalar::{self, Scalar};
use super::syntax::{Event, EventKind, Events, Mark, SyntaxError};
use super::tag::{Tagged, no_reference};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::suggest::did_you_mean;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// An error after which nothing more can be read.
pub(super) type Stop = Box<Diagnostic>;

/// Builds the tree of the first document in a part of a text.
pub(super) struct Loader<'t> {
    events: Events<'t>,
    text: &'t str,
    places: Places,
    limits: &'t Limits,
    /// Anchored nodes by name; `None` while the node is still being read.
    anchors: HashMap<&'t str, Option<Arc<Node>>>,
    open: Vec<Open<'t>>,
    room: Room,
    names: Names<'t>,
}

impl<'t> Loader<'t> {
    pub(super) fn new(file: FileId, text: &'t str, part: Range<usize>, limits: &'t Limits) -> Self {
        let places = Places::new(file, text, part.start);
        Self {
            events: Events::new(text, part, places.first_line()),
            text,
            places,
            limits,
            anchors: HashMap::new(),
            open: Vec::new(),
            room: Room::default(),
            names: Names::default(),
        }
    }

    /// Returns the document's root; `None` when there is none.
    pub(super) fn load(
        &mut self,
        findings: &mut Vec<Diagnostic>,
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
            if let Some(node) = self.read(event, findings)? {
                root = Some(node);
            }
            event = self
                .events
                .next_event()
                .map_err(|error| self.syntax_error(&error))?;
        }
    }

    /// Returns whether the part goes on behind the document.
    pub(super) fn has_more(&mut self) -> bool {
        self.events.has_more()
    }

    /// Adds what an event brings; returns the root when that is complete.
    fn read(
        &mut self,
        event: Event<'t>,
        findings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Node>>, Stop> {
        let span = self.places.span(event.start, event.end);
        let tagged = Tagged::of(event.tag.as_ref(), span, findings);
        match event.kind {
            EventKind::Scalar { text, is_plain } => {
                if event.anchor.is_none()
                    && let Some(open) = self.open.last_mut()
                    && open.is_at_key()
                {
                    let kind = scalar_kind(text, is_plain, tagged, span, &mut self.names)?;
                    open.add_key(Key::of(kind, tagged, span)?);
                    return Ok(None);
                }
                if text.contains('\0') {
                    refuse(findings, || nul_character(span));
                }
                let kind = scalar_kind(text, is_plain, tagged, span, &mut self.names)?;
                let node = Arc::new(Node::new(kind, span));
                self.remember(event.anchor, &node);
                self.add(node, span, findings)
            }
            EventKind::Alias(name) => {
                let node = self.aliased(name, span)?;
                self.add(node, span, findings)
            }
            EventKind::SequenceStart => {
                let open = Open::sequence(event.anchor, tagged, span, &mut self.room);
                self.start(open)?;
                Ok(None)
            }
            EventKind::MappingStart => {
                let open = Open::mapping(event.anchor, tagged, span, &mut self.room);
                self.start(open)?;
                Ok(None)
            }
            EventKind::End => {
                let node = self.end(event.end)?;
                let span = node.span;
                self.add(node, span, findings)
            }
            EventKind::DocumentEnd => Ok(None),
        }
    }

    /// Adds a node where it stands, at `span`; returns it when it stands at the top.
    fn add(
        &mut self,
        node: Arc<Node>,
        span: Span,
        findings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Node>>, Stop> {
        let Some(open) = self.open.last_mut() else {
            return Ok(Some(node));
        };
        open.add(node, span, self.limits, findings)?;
        Ok(None)
    }

    fn start(&mut self, open: Open<'t>) -> Result<(), Stop> {
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
        // What has brackets ends with them; the end of a block is only known from what follows.
        let closing = self.text.as_bytes().get(end.wrapping_sub(1));
        let is_closed = open.is_flow(self.text) && matches!(closing, Some(b']' | b'}'));
        let node = Arc::new(open.close(is_closed.then_some(end), &mut self.room)?);
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
                let message = "an alias stands inside the anchor it names";
                Err(Diagnostic::error("anchor-cycle", message).at(span).into())
            }
            None => {
                let mut known: Vec<&str> = self.anchors.keys().copied().collect();
                known.sort_unstable();
                let help = did_you_mean(name, known).unwrap_or_else(|| {
                    format!("an anchor `&{name}` must stand before it, in the same file")
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
            self.places.span(mark, mark.offset + width)
        };
        let span = at(error.mark);
        let message = format!("invalid YAML: {}", error.problem);
        let mut finding = Diagnostic::error("yaml-syntax", message).at(span);
        if let Some((what, start)) = error.context
            && start.line != error.mark.line
        {
            finding = finding.with_related(at(start), what);
        }
        finding.with_help(self.advice(error))
    }

    /// Returns what helps against the usual mistakes.
    fn advice(&self, error: &SyntaxError) -> Option<String> {
        let offset = error.mark.offset.min(self.text.len());
        let line_start = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let indent = &line[..line.len() - line.trim_start().len()];
        if indent.contains('\t') {
            return Some("YAML is indented with spaces; this line has a tab".to_owned());
        }
        let advice = match error.problem {
            "mapping values are not allowed in this context" => {
                "put a text that holds `: ` in quotes, or check the indentation"
            }
            "found character that cannot start any token" => {
                "put a text that starts with this character in quotes"
            }
            "could not find expected ':'" => "a key ends with `:` and a space",
            _ => return None,
        };
        Some(advice.to_owned())
    }
}

/// Returns the value of a scalar; what a tag does not say, the text does.
fn scalar_kind<'t>(
    text: Cow<'t, str>,
    is_plain: bool,
    tagged: Tagged,
    span: Span,
    names: &mut Names<'t>,
) -> Result<Kind, Stop> {
    let is_text = match tagged {
        Tagged::Reference => return Err(no_reference(span).into()),
        Tagged::Text => true,
        Tagged::None => !is_plain,
        // A tag makes even quoted text be looked at, as in GitLab's loader.
        Tagged::Other => false,
    };
    let resolved = if is_text {
        Scalar::Text
    } else {
        scalar::resolve(&text)
    };
    if resolved == Scalar::Text {
        return Ok(Kind::String(match text {
            Cow::Borrowed(text) => names.share(text),
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

/// Neither a script nor a variable, a path or an argument can hold this character, so that a job
/// that has it could only fail.
fn nul_character(span: Span) -> Diagnostic {
    let message = "the text contains a NUL character, which no process can be given";
    Diagnostic::error("nul-character", message).at(span)
}

fn too_deep(span: Span, limits: &Limits) -> Diagnostic {
    let message = format!("values are nested deeper than {} levels", limits.depth);
    Diagnostic::error("nested-too-deep", message).at(span)
}
