use super::Limits;
use super::node::{Kind, Node};
use super::open::Open;
use super::place::Places;
use super::scalar;
use super::tag::{Tagged, no_reference};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};
use std::collections::HashMap;
use std::sync::Arc;

/// An error after which nothing more can be read.
pub(super) type Stop = Box<Diagnostic>;

/// Builds the tree from the parser's events.
pub(super) struct Loader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    places: Places<'t>,
    limits: &'t Limits,
    /// Anchored nodes by the parser's id; `None` while the node is still being read.
    anchors: HashMap<usize, Option<Arc<Node>>>,
    open: Vec<Open>,
}

impl<'t> Loader<'t> {
    pub(super) fn new(file: FileId, text: &'t str, limits: &'t Limits) -> Self {
        Self {
            parser: Parser::new_from_str(text),
            places: Places::new(file, text),
            limits,
            anchors: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Returns the next document's root; `None` when there is none.
    pub(super) fn next_document(
        &mut self,
        findings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Node>>, Stop> {
        let mut root = None;
        while let Some(event) = self.parser.next_event() {
            let (event, span) = event.map_err(|error| self.syntax_error(&error))?;
            let span = self.places.span(span.start, span.end);
            let node = match event {
                Event::Alias(anchor) => Some(self.aliased(anchor, span)?),
                Event::Scalar(text, style, anchor, tag) => {
                    let tagged = Tagged::of(tag.as_deref(), span, findings);
                    let node = scalar_node(&text, style, tagged, span)?;
                    if text.contains('\0') && !self.open.last().is_some_and(Open::is_at_key) {
                        findings.push(nul_character(span));
                    }
                    self.remember(anchor, &node);
                    Some(node)
                }
                Event::SequenceStart(anchor, tag) => {
                    let tagged = Tagged::of(tag.as_deref(), span, findings);
                    self.start(Open::sequence(anchor, tagged, span))?;
                    None
                }
                Event::MappingStart(anchor, tag) => {
                    let tagged = Tagged::of(tag.as_deref(), span, findings);
                    self.start(Open::mapping(anchor, tagged, span))?;
                    None
                }
                Event::SequenceEnd | Event::MappingEnd => Some(self.end(span)?),
                Event::DocumentEnd => return Ok(root),
                Event::StreamEnd => return Ok(None),
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => None,
            };
            if let Some(node) = node {
                match self.open.last_mut() {
                    Some(open) => open.add(node, span, self.limits, findings)?,
                    None => root = Some(node),
                }
            }
        }
        Ok(root)
    }

    /// Returns whether another document follows.
    pub(super) fn has_more(&mut self) -> bool {
        matches!(self.parser.peek(), Some(Ok((Event::DocumentStart(_), _))))
    }

    fn start(&mut self, open: Open) -> Result<(), Stop> {
        if self.open.len() >= usize::from(self.limits.depth) {
            return Err(too_deep(open.span, self.limits).into());
        }
        if open.anchor != 0 {
            self.anchors.insert(open.anchor, None);
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, end: Span) -> Result<Arc<Node>, Stop> {
        let open = self
            .open
            .pop()
            .expect("the parser balances starts and ends");
        let anchor = open.anchor;
        let node = Arc::new(open.close(end)?);
        if usize::from(node.depth()) + self.open.len() > usize::from(self.limits.depth) {
            return Err(too_deep(node.span, self.limits).into());
        }
        self.remember(anchor, &node);
        Ok(node)
    }

    fn remember(&mut self, anchor: usize, node: &Arc<Node>) {
        if anchor != 0 {
            self.anchors.insert(anchor, Some(Arc::clone(node)));
        }
    }

    fn aliased(&self, anchor: usize, span: Span) -> Result<Arc<Node>, Stop> {
        let anchored = self.anchors.get(&anchor).cloned().flatten();
        anchored.ok_or_else(|| {
            let message = "an alias stands inside the anchor it names";
            Diagnostic::error("anchor-cycle", message).at(span).into()
        })
    }

    fn syntax_error(&mut self, error: &ScanError) -> Diagnostic {
        let span = self.places.span(*error.marker(), *error.marker());
        let message = format!("invalid YAML: {}", error.info());
        let line = self.places.line(span);
        let indent = &line[..line.len() - line.trim_start().len()];
        let help = indent
            .contains('\t')
            .then(|| "YAML is indented with spaces; this line has a tab".to_owned());
        Diagnostic::error("yaml-syntax", message)
            .at(span)
            .with_help(help)
    }
}

fn scalar_node(
    text: &str,
    style: ScalarStyle,
    tagged: Tagged,
    span: Span,
) -> Result<Arc<Node>, Stop> {
    let kind = match (tagged, style) {
        (Tagged::Reference, _) => return Err(no_reference(span).into()),
        (Tagged::No, ScalarStyle::Plain) => {
            scalar::resolve(text).into_kind(text).ok_or_else(|| {
                let message = format!("`{text}` is a date, which GitLab does not accept");
                let help = format!("write it as text: \"{text}\"");
                Diagnostic::error("yaml-date", message)
                    .at(span)
                    .with_help(help)
            })?
        }
        _ => Kind::String(text.into()),
    };
    Ok(Arc::new(Node::new(kind, span)))
}

/// Neither a script nor a variable, a path or an argument can hold this character, so that a job
/// that has it could only fail.
fn nul_character(span: Span) -> Diagnostic {
    let message = "the text holds a NUL character, which no process can be given";
    Diagnostic::error("nul-character", message).at(span)
}

fn too_deep(span: Span, limits: &Limits) -> Diagnostic {
    let message = format!("values are nested deeper than {} levels", limits.depth);
    Diagnostic::error("nested-too-deep", message).at(span)
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;
    use crate::diagnostic::Diagnostics;
    use std::fmt::Write as _;

    fn load_text(text: &str) -> (Option<Arc<Node>>, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.sources_mut().add("ci.yml", text);
        let loaded = load(file, &Limits::default(), &mut diagnostics);
        (loaded.map(|loaded| loaded.content), diagnostics)
    }

    fn check(text: &str, expect: &serde_json::Value) {
        let (root, diagnostics) = load_text(text);
        let root = root.unwrap_or_else(|| panic!("{text:?} is refused: {diagnostics}"));
        assert_eq!(&root.to_json(), expect, "loading {text:?}");
    }

    fn check_refused(text: &str, code: &str, line: u32) {
        let (root, diagnostics) = load_text(text);
        assert!(root.is_none(), "{text:?} is accepted");
        let error = diagnostics.errors().next().unwrap();
        assert_eq!(error.code, code, "{diagnostics}");
        assert_eq!(
            error.span.map_or(0, |span| span.line),
            line,
            "{diagnostics}"
        );
    }

    #[test]
    fn scalars_are_yaml_1_1() {
        check(
            "{a: yes, b: 0755, c: 12:30, d: ~, e: 'yes', f: !!str 1, g: \"1\", h: }",
            &serde_json::json!({
                "a": true, "b": 493, "c": 45000, "d": null, "e": "yes", "f": "1", "g": "1", "h": null
            }),
        );
    }

    #[test]
    fn merge_keys_apply_in_document_order() {
        let anchors = ".a: &a {x: a, y: a}\n.b: &b {x: b, z: b}\n";
        let job = |text: &str| {
            load_text(&format!("{anchors}j: {text}\n"))
                .0
                .unwrap()
                .get("j")
                .unwrap()
                .to_json()
        };
        assert_eq!(
            job("{x: own, <<: *a}"),
            serde_json::json!({"x": "a", "y": "a"})
        );
        assert_eq!(
            job("{<<: *a, x: own}"),
            serde_json::json!({"x": "own", "y": "a"})
        );
        assert_eq!(
            job("{<<: [*a, *b]}"),
            serde_json::json!({"x": "a", "z": "b", "y": "a"})
        );
        assert_eq!(job("{<<: text}"), serde_json::json!({"<<": "text"}));
    }

    #[test]
    fn the_last_of_two_equal_keys_wins_with_a_warning_that_shows_both() {
        let (root, diagnostics) = load_text("job: {script: a}\njob: {script: b}\n");
        assert_eq!(
            root.unwrap().to_json(),
            serde_json::json!({"job": {"script": "b"}})
        );
        insta::assert_snapshot!(diagnostics, @r"
        warning[duplicate-key]: `job` is given twice; the last one counts
         --> ci.yml:2:1
          |
        1 | job: {script: a}
          | --- first given here
        2 | job: {script: b}
          | ^^^
        ");
    }

    #[test]
    fn places_are_bytes_lines_and_columns_also_behind_wide_characters() {
        let text = "ü: &a {é: x}\nlater: *a\nß: [1, wörd]\n";
        let (root, _) = load_text(text);
        let root = root.unwrap();
        let word = &root.get("ß").unwrap().as_sequence().unwrap()[1];
        assert_eq!(&text[word.span.bytes()], "wörd");
        assert_eq!((word.span.line, word.span.column), (3, 8));
        let entry = &root.as_mapping().unwrap()["later"];
        assert_eq!(&text[entry.key_span.bytes()], "later");
    }

    #[test]
    fn unknown_tags_are_ignored_with_a_warning() {
        let (root, diagnostics) = load_text("a: !!python/object:os.system [x]\nb: !foo 1\n");
        assert_eq!(
            root.unwrap().to_json(),
            serde_json::json!({"a": ["x"], "b": 1})
        );
        assert_eq!(diagnostics.warnings().count(), 2);
    }

    #[test]
    fn broken_texts_are_refused_with_their_place() {
        check_refused("", "empty-file", 1);
        check_refused(" \n\n", "empty-file", 1);
        check_refused("a: 1\nb: \0x", "nul-character", 2);
        check_refused("job:\n\tscript: x\n", "yaml-syntax", 2);
        check_refused("a: *nothing\n", "yaml-syntax", 1);
        check_refused("a: &a [*a]\n", "anchor-cycle", 1);
        check_refused("x: 1\nd: 2020-01-01\n", "yaml-date", 2);
        check_refused("? [a]\n: b\n", "invalid-key", 1);
        check_refused("a: !reference text\n", "invalid-reference", 1);
    }

    #[test]
    fn an_alias_bomb_is_refused_and_ten_thousand_sharers_are_not() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..7 {
            let alias = format!("*a{},", level - 1).repeat(9);
            writeln!(bomb, "a{level}: &a{level} [{alias}]").unwrap();
        }
        check_refused(&bomb, "alias-bomb", 7);

        let mut shared = ".base: &base {script: [a, b, c], image: x, tags: [a, b]}\n".to_owned();
        for job in 0..10_000 {
            writeln!(shared, "job{job}:\n  <<: *base\n  stage: test").unwrap();
        }
        let (root, _) = load_text(&shared);
        assert_eq!(root.unwrap().as_mapping().unwrap().len(), 10_001);
    }

    #[test]
    fn deep_nesting_is_refused() {
        // Here the parser's own limit comes first, because it looks ahead for a key.
        check_refused(&"[".repeat(200_000), "yaml-syntax", 1);
        check_refused(&"- ".repeat(200_000), "nested-too-deep", 1);
        let chain = (1..200).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
            text + &format!("a{level}: &a{level} [*a{}]\n", level - 1)
        });
        check_refused(&chain, "nested-too-deep", 100);
    }

    #[test]
    fn odd_line_ends_and_marks_are_read() {
        check(
            "\u{feff}a: 1\r\nb: 2\r\n",
            &serde_json::json!({"a": 1, "b": 2}),
        );
        check("a: 1\rb: 2\r", &serde_json::json!({"a": 1, "b": 2}));
        check("---\na: 1\n", &serde_json::json!({"a": 1}));
    }

    #[test]
    fn later_documents_are_ignored_with_a_warning() {
        let (root, diagnostics) = load_text("a: 1\n---\n\tbroken: [\n");
        assert_eq!(root.unwrap().to_json(), serde_json::json!({"a": 1}));
        assert_eq!(diagnostics.iter().next().unwrap().code, "more-documents");
    }
}
