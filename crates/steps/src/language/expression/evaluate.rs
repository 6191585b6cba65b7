//! What expressions stand for.

use super::error::ExpressionError;
use super::scope::Scope;
use super::template::{self, LONGEST};
use super::tree::{Binary, Expression, Function, Node, Unary};
use crate::language::value::{Kind, Value};
use std::collections::BTreeMap;

/// Returns the value of an expression.
pub(super) fn value(expression: &Expression, scope: &dyn Scope) -> Result<Value, ExpressionError> {
    let at = expression.at;
    match &expression.node {
        Node::Null => Ok(Value::NULL),
        Node::Boolean(boolean) => Ok(Value::boolean(*boolean)),
        Node::Number(number) => Ok(Value::number(*number)),
        Node::Text(parts) => template::joined(parts, scope),
        Node::Array(values) => {
            let values = values.iter().map(|it| value(it, scope));
            within(at, Value::array(values.collect::<Result<_, _>>()?))
        }
        Node::Struct(values) => within(at, structure(values, scope)?),
        Node::Name(name) => scope.get(name).ok_or_else(|| {
            let known = scope.names().join(", ");
            ExpressionError::new(
                at,
                format!("the \"{name}\" was not found; there are {known}"),
            )
        }),
        Node::Property(of, name) => property(&value(of, scope)?, name, at),
        Node::Element(of, index) => {
            let (of, index_at) = (value(of, scope)?, index.at);
            element(&of, &value(index, scope)?, index_at)
        }
        Node::Call(function, argument) => {
            let argument = value(argument, scope)?;
            let is_sensitive = argument.has_secrets();
            Ok(call(*function, &argument, at)?.sensitive_if(is_sensitive))
        }
        Node::Unary(operator, operand) => {
            let operand = value(operand, scope)?;
            let is_sensitive = operand.has_secrets();
            Ok(unary(*operator, &operand, at)?.sensitive_if(is_sensitive))
        }
        Node::Binary(Binary::Or, left, right) => {
            let left = value(left, scope)?;
            if left.is_truthy() {
                return Ok(left);
            }
            // Which one it is tells of the other.
            let is_sensitive = left.has_secrets();
            Ok(value(right, scope)?.sensitive_if(is_sensitive))
        }
        Node::Binary(Binary::And, left, right) => {
            let left = value(left, scope)?;
            if !left.is_truthy() {
                return Ok(left);
            }
            let is_sensitive = left.has_secrets();
            Ok(value(right, scope)?.sensitive_if(is_sensitive))
        }
        Node::Binary(operator, left, right) => {
            let (left, right) = (value(left, scope)?, value(right, scope)?);
            let is_sensitive = left.has_secrets() || right.has_secrets();
            Ok(binary(*operator, left, right, at)?.sensitive_if(is_sensitive))
        }
    }
}

fn structure(
    values: &[(Expression, Expression)],
    scope: &dyn Scope,
) -> Result<Value, ExpressionError> {
    let mut made = BTreeMap::new();
    let mut is_sensitive = false;
    for (key, of) in values {
        let (at, key) = (key.at, value(key, scope)?);
        is_sensitive |= key.is_sensitive;
        let Kind::Text(key) = key.kind else {
            let words = format!("a key is a string, not of type {}", key.type_name());
            return Err(ExpressionError::new(at, words));
        };
        made.insert(key, value(of, scope)?);
    }
    Ok(Value::named(made).sensitive_if(is_sensitive))
}

fn property(of: &Value, name: &str, at: usize) -> Result<Value, ExpressionError> {
    let Kind::Struct(values) = &of.kind else {
        let words = format!(
            "a value of type {} has no property \"{name}\"",
            of.type_name()
        );
        return Err(ExpressionError::new(at, words));
    };
    let found = values.get(name).cloned();
    let found =
        found.ok_or_else(|| ExpressionError::new(at, format!("the \"{name}\" was not found")));
    Ok(found?.sensitive_if(of.is_sensitive))
}

fn element(of: &Value, index: &Value, at: usize) -> Result<Value, ExpressionError> {
    let found = match (&of.kind, &index.kind) {
        (Kind::Struct(_), Kind::Text(name)) => property(of, name, at)?,
        (Kind::Array(values), Kind::Number(number)) => {
            let place =
                (number.fract() == 0.0 && *number >= 0.0).then(|| values.get(whole(*number)));
            let missing = || {
                let length = values.len();
                let words = format!(
                    "there is no element {number}: the array has {length}, and the first is 0"
                );
                ExpressionError::new(at, words)
            };
            place.flatten().cloned().ok_or_else(missing)?
        }
        _ => {
            let (of, index) = (of.type_name(), index.type_name());
            let words = format!("a value of type {of} has no element that a {index} names");
            return Err(ExpressionError::new(at, words));
        }
    };
    Ok(found.sensitive_if(of.is_sensitive || index.is_sensitive))
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

fn call(function: Function, of: &Value, at: usize) -> Result<Value, ExpressionError> {
    Ok(match (function, &of.kind) {
        (Function::Str, Kind::Null) => Value::text("<null>"),
        (Function::Str, _) => Value::text(of.to_text()),
        (Function::Bool, _) => Value::boolean(of.is_truthy()),
        (Function::Num, Kind::Number(number)) => Value::number(*number),
        (Function::Num, Kind::Text(text)) => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::number(number),
            // The text may be a secret.
            _ => return Err(ExpressionError::new(at, "the text is no number")),
        },
        (Function::Num, _) => {
            let words = format!("a value of type {} is no number", of.type_name());
            return Err(ExpressionError::new(at, words));
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
    let words = format!("`{sign}` needs a number, not a value of type {number}");
    Err(ExpressionError::new(at, words))
}

fn binary(
    operator: Binary,
    left: Value,
    right: Value,
    at: usize,
) -> Result<Value, ExpressionError> {
    let order = || left.compare(&right);
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
    left: Value,
    right: Value,
    at: usize,
) -> Result<Value, ExpressionError> {
    let (left_type, right_type) = (left.type_name(), right.type_name());
    let (one, two) = match (left.kind, right.kind) {
        (Kind::Number(one), Kind::Number(two)) => (one, two),
        (Kind::Text(one), Kind::Text(two)) if operator == Binary::Add => {
            if one.len() + two.len() > LONGEST {
                return Err(template::too_long(at));
            }
            return Ok(Value::text(one + &two));
        }
        _ => {
            let words = match operator {
                Binary::Add => "adds two numbers or two strings",
                _ => "is between two numbers",
            };
            let sign = sign(operator);
            let words = format!(
                "`{sign}` {words}, not values of type {left_type} and {right_type}; str() and num() convert"
            );
            return Err(ExpressionError::new(at, words));
        }
    };
    let number = match operator {
        Binary::Add => one + two,
        Binary::Subtract => one - two,
        Binary::Multiply => one * two,
        Binary::Divide | Binary::Remainder if two == 0.0 => {
            return Err(ExpressionError::new(at, "a division by zero"));
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

fn within(at: usize, value: Value) -> Result<Value, ExpressionError> {
    if value.size() > LONGEST {
        return Err(template::too_long(at));
    }
    Ok(value)
}
