//! Evaluates expressions.

use super::ExpressionError;
use super::Scope;
use super::tree::{Binary, Conversion, Expression, Node, Part, Unary};
use crate::language::value::{Kind, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The longest result.
const LONGEST: usize = 16 * 1024 * 1024;

/// Evaluates an expression; named values are not copied.
pub(super) fn value<'s>(
    expression: &Expression,
    scope: &'s dyn Scope,
) -> Result<Cow<'s, Value>, ExpressionError> {
    let at = expression.at;
    Ok(Cow::Owned(match &expression.node {
        Node::Null => Value::NULL,
        Node::Boolean(boolean) => Value::boolean(*boolean),
        Node::Number(number) => Value::number(*number),
        Node::Text(parts) => joined(parts, scope)?,
        Node::Array(values) => array(values, scope)?,
        Node::Struct(values) => structure(values, scope)?,
        Node::Name(name) => {
            return scope.get(name).map(Cow::Borrowed).ok_or_else(|| {
                let known = scope.names().join(", ");
                let message = format!("unknown name \"{name}\"; known are {known}");
                ExpressionError::new(at, message)
            });
        }
        Node::Property(of, name) => return property(&value(of, scope)?, name, at),
        Node::Element(of, index) => {
            return element(&value(of, scope)?, &*value(index, scope)?, index.at);
        }
        Node::Call(conversion, argument) => {
            let argument = value(argument, scope)?;
            let is_sensitive = argument.has_secrets();
            call(*conversion, &argument, at)?.sensitive_if(is_sensitive)
        }
        Node::Unary(operator, operand) => {
            let operand = value(operand, scope)?;
            let is_sensitive = operand.has_secrets();
            unary(*operator, &operand, at)?.sensitive_if(is_sensitive)
        }
        Node::Binary(operator @ (Binary::Or | Binary::And), left, right) => {
            return match left_of(*operator, left, scope)? {
                Left::Decides(left) => Ok(left),
                // Which side is the value reveals something about the left one.
                Left::Passes { is_sensitive } => Ok(marked(value(right, scope)?, is_sensitive)),
            };
        }
        Node::Binary(operator, left, right) => {
            let (left, right) = (value(left, scope)?, value(right, scope)?);
            let is_sensitive = left.has_secrets() || right.has_secrets();
            binary(*operator, &left, &right, at)?.sensitive_if(is_sensitive)
        }
    }))
}

/// The meaning of the left side of `||` or `&&`.
enum Left<'s> {
    /// It is the result.
    Decides(Cow<'s, Value>),
    /// The right side is the result.
    Passes { is_sensitive: bool },
}

fn left_of<'s>(
    operator: Binary,
    left: &Expression,
    scope: &'s dyn Scope,
) -> Result<Left<'s>, ExpressionError> {
    let value = match found(left, scope)? {
        Found::Value(value) => value,
        Found::Missing { is_sensitive } => Cow::Owned(Value::NULL.sensitive_if(is_sensitive)),
    };
    if value.is_truthy() == (operator == Binary::Or) {
        return Ok(Left::Decides(value));
    }
    let is_sensitive = value.has_secrets();
    Ok(Left::Passes { is_sensitive })
}

/// The result of a lookup in a struct or an array.
enum Found<'s> {
    Value(Cow<'s, Value>),
    /// The element does not exist, which is no error on the left of `||` and `&&`.
    Missing {
        /// Whether that reveals something about a secret.
        is_sensitive: bool,
    },
}

/// Evaluates an expression, or reports that it names a missing element.
fn found<'s>(expression: &Expression, scope: &'s dyn Scope) -> Result<Found<'s>, ExpressionError> {
    let (of, index) = match &expression.node {
        Node::Property(of, name) => (of, Cow::Owned(Value::text(name.as_str()))),
        Node::Element(of, index) => (of, value(index, scope)?),
        // `a || b || c`: a missing value in the middle is on the left, too.
        Node::Binary(operator @ (Binary::Or | Binary::And), left, right) => {
            return match left_of(*operator, left, scope)? {
                Left::Decides(left) => Ok(Found::Value(left)),
                Left::Passes { is_sensitive } => Ok(match found(right, scope)? {
                    Found::Value(value) => Found::Value(marked(value, is_sensitive)),
                    Found::Missing { is_sensitive: also } => Found::Missing {
                        is_sensitive: is_sensitive || also,
                    },
                }),
            };
        }
        _ => return value(expression, scope).map(Found::Value),
    };
    let of = match found(of, scope)? {
        Found::Value(of) => of,
        missing @ Found::Missing { .. } => return Ok(missing),
    };
    if !has(&of.kind, &index.kind) {
        let is_sensitive = of.is_sensitive || index.is_sensitive;
        return Ok(Found::Missing { is_sensitive });
    }
    let found = match &expression.node {
        Node::Property(_, name) => property(&of, name, expression.at)?,
        Node::Element(_, position) => element(&of, &index, position.at)?,
        _ => of,
    };
    Ok(Found::Value(found))
}

/// Returns whether a struct or an array has an element. Other types are a different error.
fn has(of: &Kind, index: &Kind) -> bool {
    match (of, index) {
        (Kind::Struct(values), Kind::Text(name)) => values.contains_key(name),
        (Kind::Array(values), Kind::Number(number)) => {
            number.fract() == 0.0 && *number >= 0.0 && whole(*number) < values.len()
        }
        _ => true,
    }
}

/// Marks a value as a secret if `is_sensitive`.
fn marked(value: Cow<'_, Value>, is_sensitive: bool) -> Cow<'_, Value> {
    if !is_sensitive || value.is_sensitive {
        return value;
    }
    Cow::Owned(value.into_owned().sensitive_if(true))
}

fn array(values: &[Expression], scope: &dyn Scope) -> Result<Value, ExpressionError> {
    let (mut copies, mut size) = (Vec::with_capacity(values.len()), 0);
    for of in values {
        copies.push(sized(of, scope, &mut size)?);
    }
    Ok(Value::array(copies))
}

fn structure(
    values: &[(Expression, Expression)],
    scope: &dyn Scope,
) -> Result<Value, ExpressionError> {
    let (mut copies, mut size) = (BTreeMap::new(), 0);
    let mut is_sensitive = false;
    for (key, of) in values {
        let (at, key) = (key.at, sized(key, scope, &mut size)?);
        is_sensitive |= key.is_sensitive;
        let Kind::Text(key) = key.kind else {
            let message = format!("expected a string as key, found type {}", key.type_name());
            return Err(ExpressionError::new(at, message));
        };
        copies.insert(key, sized(of, scope, &mut size)?);
    }
    Ok(Value::named(copies).sensitive_if(is_sensitive))
}

/// Returns a copy of a value, unless the total size becomes too large.
fn sized(of: &Expression, scope: &dyn Scope, size: &mut usize) -> Result<Value, ExpressionError> {
    let value = value(of, scope)?;
    *size += value.size() + 8;
    if *size > LONGEST {
        return Err(too_long(of.at));
    }
    Ok(value.into_owned())
}

fn property<'s>(
    of: &Cow<'s, Value>,
    name: &str,
    at: usize,
) -> Result<Cow<'s, Value>, ExpressionError> {
    let found = part(of, |kind| {
        let Kind::Struct(values) = kind else {
            let type_name = of.type_name();
            return Err(format!(
                "a value of type {type_name} has no property \"{name}\""
            ));
        };
        let missing = || format!("\"{name}\" was not found");
        values.get(name).ok_or_else(missing)
    });
    found.map_err(|message| ExpressionError::new(at, message))
}

fn element<'s>(
    of: &Cow<'s, Value>,
    index: &Value,
    at: usize,
) -> Result<Cow<'s, Value>, ExpressionError> {
    let missing = |message: String| {
        if index.has_secrets() {
            "there is no such element".to_owned()
        } else {
            message
        }
    };
    let found = part(of, |kind| match (kind, &index.kind) {
        (Kind::Struct(values), Kind::Text(name)) => {
            let found = values.get(name);
            found.ok_or_else(|| missing(format!("\"{name}\" was not found")))
        }
        (Kind::Array(values), Kind::Number(number)) => {
            let is_index = number.fract() == 0.0 && *number >= 0.0;
            let found = values.get(whole(*number)).filter(|_| is_index);
            found.ok_or_else(|| {
                let length = values.len();
                missing(format!(
                    "there is no element {number}: the array has {length}, starting at 0"
                ))
            })
        }
        _ => {
            let (of, index) = (of.type_name(), index.type_with_article());
            Err(format!(
                "a value of type {of} has no element with {index} as its index"
            ))
        }
    });
    let found = found.map_err(|message| ExpressionError::new(at, message))?;
    Ok(marked(found, index.is_sensitive))
}

/// Returns a part of a value. It is secret if the whole is.
fn part<'s>(
    of: &Cow<'s, Value>,
    find: impl Fn(&Kind) -> Result<&Value, String>,
) -> Result<Cow<'s, Value>, String> {
    let found = match of {
        Cow::Borrowed(of) => Cow::Borrowed(find(&of.kind)?),
        Cow::Owned(of) => Cow::Owned(find(&of.kind)?.clone()),
    };
    Ok(marked(found, of.is_sensitive))
}

fn whole(number: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and not below 0; what is too large is cut to the largest index"
    )]
    let index = number as usize;
    index
}

fn call(conversion: Conversion, of: &Value, at: usize) -> Result<Value, ExpressionError> {
    Ok(match (conversion, &of.kind) {
        (Conversion::Str, Kind::Null) => Value::text("<null>"),
        (Conversion::Str, _) => {
            let text = of.to_text();
            if text.len() > LONGEST {
                return Err(too_long(at));
            }
            Value::text(text)
        }
        (Conversion::Bool, _) => Value::boolean(of.is_truthy()),
        (Conversion::Num, Kind::Number(number)) => Value::number(*number),
        (Conversion::Num, Kind::Text(text)) => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::number(number),
            // The text may be a secret.
            _ => return Err(ExpressionError::new(at, "the string is not a number")),
        },
        (Conversion::Num, _) => {
            let message = format!("a value of type {} is not a number", of.type_name());
            return Err(ExpressionError::new(at, message));
        }
    })
}

fn unary(operator: Unary, of: &Value, at: usize) -> Result<Value, ExpressionError> {
    let (sign, number) = match (operator, &of.kind) {
        (Unary::Not, _) => return Ok(Value::boolean(!of.is_truthy())),
        (Unary::Plus, Kind::Number(number)) => return Ok(Value::number(*number)),
        (Unary::Minus, Kind::Number(number)) => return Ok(Value::number(-number)),
        (Unary::Plus, _) => ("+", of.type_name()),
        (Unary::Minus, _) => ("-", of.type_name()),
    };
    let message = format!("`{sign}` requires a number, not a value of type {number}");
    Err(ExpressionError::new(at, message))
}

fn binary(
    operator: Binary,
    left: &Value,
    right: &Value,
    at: usize,
) -> Result<Value, ExpressionError> {
    let order = || left.compare(right);
    let decided = match operator {
        Binary::Equal => order().is_eq(),
        Binary::NotEqual => order().is_ne(),
        Binary::Less => order().is_lt(),
        Binary::LessOrEqual => order().is_le(),
        Binary::Greater => order().is_gt(),
        Binary::GreaterOrEqual => order().is_ge(),
        _ => return arithmetic(operator, left, right, at),
    };
    Ok(Value::boolean(decided))
}

fn arithmetic(
    operator: Binary,
    left: &Value,
    right: &Value,
    at: usize,
) -> Result<Value, ExpressionError> {
    let (left_type, right_type) = (left.type_name(), right.type_name());
    let (one, two) = match (&left.kind, &right.kind) {
        (Kind::Number(one), Kind::Number(two)) => (*one, *two),
        (Kind::Text(one), Kind::Text(two)) if operator == Binary::Add => {
            if one.len() + two.len() > LONGEST {
                return Err(too_long(at));
            }
            return Ok(Value::text([one.as_str(), two].concat()));
        }
        _ => {
            let operands = match operator {
                Binary::Add => "adds two numbers or two strings",
                _ => "is between two numbers",
            };
            let sign = sign(operator);
            let message = format!(
                "`{sign}` {operands}, not values of type {left_type} and {right_type}; str() and num() convert"
            );
            return Err(ExpressionError::new(at, message));
        }
    };
    let number = match operator {
        Binary::Add => one + two,
        Binary::Subtract => one - two,
        Binary::Multiply => one * two,
        Binary::Divide | Binary::Remainder if two == 0.0 => {
            return Err(ExpressionError::new(at, "division by zero"));
        }
        Binary::Divide => one / two,
        _ => one % two,
    };
    if !number.is_finite() {
        return Err(ExpressionError::new(
            at,
            "the result is too large for a number",
        ));
    }
    Ok(Value::number(number))
}

const fn sign(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "+",
        Binary::Subtract => "-",
        Binary::Multiply => "*",
        Binary::Divide => "/",
        _ => "%",
    }
}

/// Joins all parts to one string, which is secret if one of them is.
pub(super) fn joined(parts: &[Part], scope: &dyn Scope) -> Result<Value, ExpressionError> {
    let mut whole = String::new();
    let mut is_sensitive = false;
    for part in parts {
        match part {
            Part::Text(text) => whole.push_str(text),
            Part::Expression(expression) => {
                let one = value(expression, scope)?;
                is_sensitive |= one.has_secrets();
                match &one.kind {
                    Kind::Text(text) => whole.push_str(text),
                    _ => whole.push_str(&one.to_text()),
                }
                if whole.len() > LONGEST {
                    return Err(too_long(expression.at));
                }
            }
        }
    }
    Ok(Value::text(whole).sensitive_if(is_sensitive))
}

fn too_long(at: usize) -> ExpressionError {
    ExpressionError::new(at, format!("the result is longer than {LONGEST} bytes"))
}
