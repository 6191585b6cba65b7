use super::evaluate::{self, compare};
use super::tree::{Node, NodeKind, Tree};
use super::{Value, Variables};
use std::fmt;

/// The replacement for masked values.
pub const MASKED: &str = "[MASKED]";

/// The values of an expression's parts, which explain its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The comparisons and single variables, in text order.
    pub steps: Vec<TraceStep>,
    /// Whether the whole is true.
    pub is_true: bool,
}

/// One part of an expression and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceStep {
    /// The part as written, on one line.
    pub text: String,
    /// The part with values instead of names, secrets masked.
    pub values: String,
    /// Its result in the notation of expressions; absent when it equals `values`, as for a single
    /// variable.
    pub outcome: Option<String>,
}

impl fmt::Display for TraceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, values, .. } = self;
        match &self.outcome {
            Some(outcome) => write!(f, "{text}   ({values}) is {outcome}"),
            None => write!(f, "{text}   is {values}"),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            let comma = if at == 0 { "" } else { "\n" };
            write!(f, "{comma}{step}")?;
        }
        Ok(())
    }
}

/// Traces the evaluation of an expression, given its text and tree.
pub(super) fn trace(text: &str, tree: &Tree, variables: &dyn Variables) -> Trace {
    let tracer = Tracer {
        text,
        tree,
        variables,
    };
    let mut shown = vec![false; tracer.tree.nodes.len()];
    let mut steps: Vec<(usize, TraceStep)> = Vec::new();
    // Operands precede operators in the list, so going backwards an operator is visited before the
    // operands it shows.
    for at in (0..tracer.tree.nodes.len()).rev() {
        let node = &tracer.tree.nodes[at];
        if let Some(step) = tracer.step(node, at, &mut shown) {
            steps.push((node.range.start, step));
        }
    }
    steps.sort_by_key(|(start, _)| *start);
    Trace {
        steps: steps.into_iter().map(|(_, step)| step).collect(),
        is_true: evaluate::is_true(tree, variables),
    }
}

struct Tracer<'e> {
    text: &'e str,
    tree: &'e Tree,
    variables: &'e dyn Variables,
}

impl Tracer<'_> {
    /// Returns the step of a node; `shown` marks the operands that another step shows.
    fn step(&self, node: &Node, at: usize, shown: &mut [bool]) -> Option<TraceStep> {
        let values = match &node.kind {
            NodeKind::Both(..) | NodeKind::Either(..) => return None,
            NodeKind::Comparison(comparison) => {
                let (left, right) = (comparison.left, comparison.right);
                (shown[left], shown[right]) = (self.is_simple(left), self.is_simple(right));
                let sign = comparison.operator.sign();
                format!("{} {sign} {}", self.show(left), self.show(right))
            }
            NodeKind::Not(inner) => {
                shown[*inner] = self.is_simple(*inner);
                format!("!{}", self.show(*inner))
            }
            _ if shown[at] => return None,
            _ => self.show(at),
        };
        let outcome = match &node.kind {
            NodeKind::Comparison(_) | NodeKind::Not(_) => Some(self.outcome(at)),
            _ => None,
        };
        let text = self.text[node.range.clone()].split(['\n', '\r']);
        let text: Vec<&str> = text.map(str::trim).collect();
        Some(TraceStep {
            text: text.join(" "),
            values,
            outcome,
        })
    }

    fn outcome(&self, at: usize) -> String {
        let node = &self.tree.nodes[at];
        let value = match &node.kind {
            NodeKind::Comparison(comparison) => {
                let value = |at| evaluate::node(self.tree, at, self.variables);
                value(comparison.left).and_then(|left| {
                    let right = value(comparison.right)?;
                    compare(comparison, left, right).map(Value::Boolean)
                })
            }
            _ => evaluate::node(self.tree, at, self.variables),
        };
        value.map_or_else(|_| "not comparable".to_owned(), |value| value.to_string())
    }

    /// Returns whether a node has no operands.
    fn is_simple(&self, at: usize) -> bool {
        use NodeKind::{Both, Comparison, Either, Not};
        let kind = &self.tree.nodes[at].kind;
        !matches!(kind, Both(..) | Comparison(_) | Either(..) | Not(_))
    }

    fn show(&self, at: usize) -> String {
        if self.is_masked(at) {
            return MASKED.to_owned();
        }
        match evaluate::node(self.tree, at, self.variables) {
            Ok(value) => value.to_string(),
            Err(_) => "not comparable".to_owned(),
        }
    }

    /// Returns whether the value of a node may be a secret.
    fn is_masked(&self, at: usize) -> bool {
        match &self.tree.nodes[at].kind {
            NodeKind::Variable(name) => {
                self.variables.is_masked(name) && self.variables.get(name).is_some()
            }
            NodeKind::Both(left, right) | NodeKind::Either(left, right) => {
                self.is_masked(*left) || self.is_masked(*right)
            }
            _ => false,
        }
    }
}
