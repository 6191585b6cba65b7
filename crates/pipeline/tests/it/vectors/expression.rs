//! The kind `expression`: a condition, variables, and what it yields.

use super::of_kind;
use pipeline::expression::{Expression, Value};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::HashMap;

#[derive(Deserialize)]
struct Vector {
    id: String,
    expression: String,
    variables: HashMap<String, Option<String>>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    valid: bool,
    truthy: bool,
    #[serde(default)]
    value: Json,
}

#[test]
fn every_expression_vector_holds() {
    // R-GLCI-161
    let vectors: Vec<Vector> = of_kind("expression");
    assert_eq!(vectors.len(), 86);
    let broken: Vec<String> = vectors
        .iter()
        .filter_map(|vector| check(vector).err())
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

fn check(vector: &Vector) -> Result<(), String> {
    let Vector {
        id,
        expression: text,
        variables,
        expect,
    } = vector;
    let defined = |(name, value): (&String, &Option<String>)| Some((name.clone(), value.clone()?));
    let variables: HashMap<String, String> = variables.iter().filter_map(defined).collect();
    let read = Expression::parse(text);
    if read.is_ok() != expect.valid {
        return Err(format!("{id}: {text}: {read:?}"));
    }
    let Ok(expression) = read else {
        return Ok(());
    };
    let value = match expression.evaluate(&variables) {
        Value::Null => Json::Null,
        Value::Boolean(flag) => flag.into(),
        Value::Text(text) => text.into(),
        Value::Pattern(pattern) => pattern.to_string().into(),
    };
    let is_true = expression.is_true(&variables);
    if value != expect.value || is_true != expect.truthy {
        return Err(format!("{id}: {text}: is {value} and {is_true}"));
    }
    Ok(())
}
