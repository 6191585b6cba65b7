use super::tree::{Comparison, NodeKind, Operator, Tree};
use super::{Value, Variables};

/// An operand that an operator cannot handle, such as `true` to the right of `=~`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnfitOperand;

/// Returns whether the value of an expression is not blank.
pub(super) fn is_true(tree: &Tree, variables: &dyn Variables) -> bool {
    evaluate(tree, variables).is_ok_and(|value| !value.is_blank())
}

/// Evaluates the whole tree.
pub(super) fn evaluate<'v>(
    tree: &'v Tree,
    variables: &'v dyn Variables,
) -> Result<Value<'v>, UnfitOperand> {
    node(tree, tree.root(), variables)
}

/// Evaluates one node. There are fewer than a hundred nodes, so the recursion is shallow.
pub(super) fn node<'v>(
    tree: &'v Tree,
    at: usize,
    variables: &'v dyn Variables,
) -> Result<Value<'v>, UnfitOperand> {
    let operand = |at: usize| node(tree, at, variables);
    Ok(match &tree.nodes[at].kind {
        NodeKind::Null => Value::Null,
        NodeKind::Boolean(flag) => Value::Boolean(*flag),
        NodeKind::Variable(name) => variables.get(name).map_or(Value::Null, Value::Text),
        NodeKind::Input(name) => variables.input(name).map_or(Value::Null, Value::Text),
        NodeKind::Text(text) => Value::Text(text),
        NodeKind::Pattern(pattern) => Value::Pattern(pattern),
        NodeKind::Not(inner) => Value::Boolean(operand(*inner)?.is_blank()),
        NodeKind::Both(left, right) => match operand(*left)? {
            value if value.is_truthy() => operand(*right)?,
            value => value,
        },
        NodeKind::Either(left, right) => match operand(*left)? {
            value if value.is_truthy() => value,
            _ => operand(*right)?,
        },
        NodeKind::Comparison(comparison) => {
            let (left, right) = (operand(comparison.left)?, operand(comparison.right)?);
            Value::Boolean(compare(comparison, left, right)?)
        }
    })
}

/// Evaluates a comparison.
pub(super) fn compare(
    comparison: &Comparison,
    left: Value<'_>,
    right: Value<'_>,
) -> Result<bool, UnfitOperand> {
    Ok(match comparison.operator {
        Operator::Equal => are_equal(left, right),
        Operator::NotEqual => !are_equal(left, right),
        Operator::Match => matches(comparison, left, right)?,
        Operator::NoMatch => !matches(comparison, left, right)?,
    })
}

/// A boolean equals its text; other values equal only values of their kind.
fn are_equal(left: Value<'_>, right: Value<'_>) -> bool {
    match (left, right) {
        (Value::Boolean(flag), Value::Text(text)) | (Value::Text(text), Value::Boolean(flag)) => {
            text == word(flag)
        }
        (left, right) => left == right,
    }
}

/// Text without slashes is not a pattern; GitLab then tests whether the left is part of the right.
fn matches(
    comparison: &Comparison,
    left: Value<'_>,
    right: Value<'_>,
) -> Result<bool, UnfitOperand> {
    let text = match left {
        Value::Null => "",
        Value::Boolean(flag) => word(flag),
        Value::Text(text) => text,
        // GitLab compares with the object's textual representation, which matches only by accident.
        Value::Pattern(_) => return Ok(false),
    };
    match right {
        Value::Null | Value::Boolean(false) => Ok(false),
        Value::Boolean(true) => Err(UnfitOperand),
        Value::Pattern(pattern) => Ok(pattern.is_match(text)),
        Value::Text(right) => Ok(match comparison.recent.read(right) {
            Some(pattern) => pattern.is_match(text),
            None => right.contains(text),
        }),
    }
}

fn word(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}
