//! Finding places in the tree that a pipeline's files became.

use super::Place;
use pipeline::{Origin, Origins};
use yaml::source::Span;
use yaml::{Entry, Kind, Mapping, Node};

/// How deep lists of rules may be nested.
const DEEPEST: usize = 10;

/// The tree, and what tells where its values were written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) root: &'a Node,
    pub(super) origins: &'a Origins,
}

impl<'a> Tree<'a> {
    /// Returns the place of a span. One that is not of this pipeline has an empty one.
    pub(super) fn place(self, span: Span) -> Place {
        let line = |origin: Origin<'_>| format!("{}:{}", origin.file, origin.line);
        let includes = self.origins.includes(span);
        let includes = includes.filter_map(|span| self.origins.of(span).map(line));
        let origin = self.origins.of(span);
        Place {
            file: origin.map_or_else(String::new, |origin| origin.file.to_owned()),
            line: span.line,
            column: span.column,
            key: origin.and_then(|origin| origin.key.map(ToOwned::to_owned)),
            includes: includes.collect(),
        }
    }

    /// Returns where the value of an entry was written: for a list or mapping at its key, unless an
    /// alias or a reference took it from elsewhere.
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

    /// Returns the place of an entry.
    pub(super) fn place_of(self, entries: &Mapping, name: &str) -> Option<Place> {
        let entry = entries.get(name)?;
        Some(self.place(self.span_of(entry)))
    }

    /// Returns the place of a variable that the rule at `span` sets; that of the rule if it is not
    /// found.
    pub(super) fn place_in_rule(self, rules: Option<&Node>, span: Span, name: &str) -> Place {
        let rule = rules.and_then(|rules| find_rule(rules, span, DEEPEST));
        let variables = rule.and_then(|rule| rule.get("variables")?.as_mapping());
        let place = variables.and_then(|variables| self.place_of(variables, name));
        place.unwrap_or_else(|| self.place(span))
    }
}

/// Finds the rule that stands at a place among lists in lists.
fn find_rule(rules: &Node, span: Span, deepest: usize) -> Option<&Node> {
    let items = rules.as_sequence()?;
    let next = deepest.checked_sub(1)?;
    items.iter().find_map(|item| match &item.kind {
        Kind::Sequence(_) => find_rule(item, span, next),
        _ => (item.span == span).then_some(&**item),
    })
}
