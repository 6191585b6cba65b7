//! Locations in the merged tree of a pipeline's files.

use pipeline::{Origin, Origins};
use serde::Serialize;
use std::fmt;
use yaml::source::Span;
use yaml::{Entry, Kind, Mapping, Node};

/// The maximum nesting of lists of rules.
const DEEPEST: usize = 10;

/// A location in one of the files of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Location {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters from 1.
    pub column: u32,
    /// The top-level key that contains it; absent for the file as a whole.
    pub key: Option<String>,
    /// The locations that include the file, as `file:line`, the nearest first.
    pub includes: Vec<String>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The tree and the origins of its values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) root: &'a Node,
    pub(super) origins: &'a Origins,
}

impl<'a> Tree<'a> {
    /// Returns the location of a span; an empty one if it is not of this pipeline.
    pub(super) fn place(self, span: Span) -> Location {
        let line = |origin: Origin<'_>| format!("{}:{}", origin.file, origin.line);
        let includes = self.origins.includes(span);
        let includes = includes.filter_map(|span| self.origins.of(span).map(line));
        let origin = self.origins.of(span);
        Location {
            file: origin.map_or_else(String::new, |origin| origin.file.to_owned()),
            line: span.line,
            column: span.column,
            key: origin.and_then(|origin| origin.key.map(ToOwned::to_owned)),
            includes: includes.collect(),
        }
    }

    /// Returns the location of an entry's value: for a list or mapping that of its key, unless the
    /// value comes from an alias or reference.
    pub(super) fn span_of(self, entry: &Entry) -> Span {
        let is_plain = !matches!(
            entry.value.kind,
            Kind::Mapping(_) | Kind::Sequence(_) | Kind::Null
        );
        let key = |span: Span| (span.file, self.origins.of(span).map(|origin| origin.key));
        if is_plain || key(entry.key_span) != key(entry.value.span) {
            entry.value.span
        } else {
            entry.key_span
        }
    }

    /// Returns the entries of a top-level key.
    pub(super) fn top(self, name: &str) -> Option<&'a Mapping> {
        self.root.get(name)?.as_mapping()
    }

    /// Returns the location of an entry.
    pub(super) fn place_of(self, entries: &Mapping, name: &str) -> Option<Location> {
        let entry = entries.get(name)?;
        Some(self.place(self.span_of(entry)))
    }

    /// Returns the location of a variable that the rule at `span` sets, or else that of the rule.
    pub(super) fn place_in_rule(self, rules: Option<&Node>, span: Span, name: &str) -> Location {
        let rule = rules.and_then(|rules| find_rule(rules, span, DEEPEST));
        let variables = rule.and_then(|rule| rule.get("variables")?.as_mapping());
        let place = variables.and_then(|variables| self.place_of(variables, name));
        place.unwrap_or_else(|| self.place(span))
    }
}

/// Finds the rule at a location in nested lists.
fn find_rule(rules: &Node, span: Span, deepest: usize) -> Option<&Node> {
    let items = rules.as_sequence()?;
    let next = deepest.checked_sub(1)?;
    items.iter().find_map(|item| match &item.kind {
        Kind::Sequence(_) => find_rule(item, span, next),
        _ => (item.span == span).then_some(&**item),
    })
}
