use super::recent::RecentPattern;
use crate::pattern::Pattern;
use std::collections::HashSet;
use std::ops::Range;

/// An expression as a list of nodes; operands stand before what they are operands of, and the last
/// node is the whole.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
}

/// A part of an expression.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
}

/// What a part of an expression is; operands are places in the list of nodes.
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
    /// The pattern that the right operand was last time, if it is text.
    pub(super) recent: RecentPattern,
}

/// The operators that compare.
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

    /// Returns the patterns that stand in it.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Pattern(pattern) => Some(pattern),
            _ => None,
        })
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
