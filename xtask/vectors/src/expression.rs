//! The kind `expression`: a condition with variables, and what it comes to.

use super::variables::VariablesInput;
use pipeline::expression::{Expression, Value as Operand};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
pub(super) struct Input {
    expression: String,
    #[serde(default)]
    variables: VariablesInput,
}

pub(super) fn result(input: &Input) -> Value {
    let expression = match Expression::parse(&input.expression) {
        Ok(expression) => expression,
        Err(error) => {
            let error = error.to_string();
            return json!({"valid": false, "truthy": false, "value": null, "error": error});
        }
    };
    let variables = input.variables.values();
    let value = match expression.evaluate(&variables) {
        Operand::Null => Value::Null,
        Operand::Boolean(flag) => flag.into(),
        Operand::Text(text) => text.into(),
        Operand::Pattern(pattern) => pattern.source().into(),
    };
    json!({"valid": true, "truthy": expression.is_true(&variables), "value": value})
}
