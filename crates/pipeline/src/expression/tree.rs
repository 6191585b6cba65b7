use crate::pattern::Pattern;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// An expression as a list of nodes; operands precede their operators, and the last node is the
/// root.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
}

/// A part of an expression.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// Its byte range in the text.
    pub(super) range: Range<usize>,
}

/// The kinds of nodes; operands are indices in the list of nodes.
#[derive(Debug)]
pub(super) enum NodeKind {
    Null,
    Boolean(bool),
    Variable(String),
    Input(String),
    Text(String),
    Pattern(Pattern),
    Not(usize),
    Both(usize, usize),
    Either(usize, usize),
    Comparison(Comparison),
}

/// Two operands and how they are compared.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) operator: Operator,
    pub(super) left: usize,
    pub(super) right: usize,
    /// The pattern last parsed from the right operand, if it is text.
    pub(super) recent: RecentPattern,
}

/// The comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Match,
    NoMatch,
}

impl Operator {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Match => "=~",
            Self::NoMatch => "!~",
        }
    }
}

impl Tree {
    pub(super) fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.names(|kind| match kind {
            NodeKind::Variable(name) => Some(name),
            _ => None,
        })
    }

    /// Returns its pattern literals.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Pattern(pattern) => Some(pattern),
            _ => None,
        })
    }

    /// Returns the range of the first match against text that is not a pattern.
    pub(super) fn reversed_match(&self) -> Option<Range<usize>> {
        let mut nodes = self.nodes.iter();
        let reversed = nodes.find(|node| match &node.kind {
            NodeKind::Comparison(comparison) => {
                let is_match = matches!(comparison.operator, Operator::Match | Operator::NoMatch);
                let right = &self.nodes[comparison.right].kind;
                let is_text = |text: &str| comparison.recent.read(text).is_none();
                is_match && matches!(right, NodeKind::Text(text) if is_text(text))
            }
            _ => false,
        });
        reversed.map(|node| node.range.clone())
    }

    pub(super) fn inputs(&self) -> impl Iterator<Item = &str> {
        self.names(|kind| match kind {
            NodeKind::Input(name) => Some(name),
            _ => None,
        })
    }

    fn names(&self, name: fn(&NodeKind) -> Option<&str>) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let names = self.nodes.iter().filter_map(move |node| name(&node.kind));
        names.filter(move |name| seen.insert(*name))
    }
}

/// The last text that was parsed as a pattern, with the result.
///
/// A pattern in a variable is usually the same for all jobs, so one entry is enough.
#[derive(Default)]
pub(super) struct RecentPattern(Mutex<Option<(String, Option<Pattern>)>>);

/// Omits the text, which is a variable's value and may be a secret.
impl fmt::Debug for RecentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentPattern").finish_non_exhaustive()
    }
}

impl RecentPattern {
    /// Parses `text` as a pattern; returns `None` for plain text.
    pub(super) fn read(&self, text: &str) -> Option<Pattern> {
        if !text.contains('/') {
            return None;
        }
        let mut recent = self.0.lock();
        if let Some((known, pattern)) = &*recent
            && known == text
        {
            return pattern.clone();
        }
        let pattern = Pattern::from_literal(text).ok();
        *recent = Some((text.to_owned(), pattern.clone()));
        pattern
    }
}
