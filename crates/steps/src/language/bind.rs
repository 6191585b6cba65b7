//! Checks inputs and outputs of a function against their declarations.

use super::error::LanguageError;
use super::expression::{ExpressionError, Scope};
use super::function::{Argument, Declared};
use super::value::{Kind, Value, ValueType};
use std::collections::BTreeMap;

impl Argument {
    /// Evaluates the argument.
    ///
    /// # Errors
    ///
    /// As [`Template::evaluate`](super::expression::Template::evaluate).
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Value, ExpressionError> {
        Ok(match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => template.evaluate(scope)?,
            Self::Array(values) => {
                let values = values.iter().map(|it| it.evaluate(scope));
                Value::array(values.collect::<Result<_, _>>()?)
            }
            Self::Struct(values) => {
                let values = values
                    .iter()
                    .map(|(name, it)| Ok((name, it.evaluate(scope)?)));
                Value::named(values.collect::<Result<Vec<_>, ExpressionError>>()?)
            }
        })
    }
    /// Evaluates the argument for a declared type.
    ///
    /// # Errors
    ///
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_as(
        &self,
        value_type: Option<ValueType>,
        scope: &dyn Scope,
    ) -> Result<Value, ExpressionError> {
        match (self, value_type) {
            (_, None | Some(ValueType::Text)) => self.evaluate(scope),
            (Self::Text(template), Some(_)) => template.evaluate_trimmed(scope),
            _ => self.evaluate(scope),
        }
    }
}

/// Returns the inputs of a function: the given values, and defaults for the rest.
///
/// # Errors
///
/// Names the input that is unknown, missing, of another type, or a secret without `sensitive`.
pub fn bind_inputs(
    declared: &BTreeMap<String, Declared>,
    mut given: BTreeMap<String, Value>,
) -> Result<Value, LanguageError> {
    if let Some(name) = given.keys().find(|name| !declared.contains_key(*name)) {
        return Err(LanguageError::new(format!(
            "it has no input \"{name}\"{}",
            known(declared.keys())
        )));
    }
    let mut bound = BTreeMap::new();
    for (name, input) in declared {
        let value = match given.remove(name) {
            Some(value) => checked("input", name, value, input.value_type, input.is_sensitive)?,
            None => input.default.clone().ok_or_else(|| {
                format!("it requires input \"{name}\" of type {}", input.value_type)
            })?,
        };
        bound.insert(name.clone(), value);
    }
    Ok(Value::named(bound))
}

/// Returns the outputs of a function: the given values, and defaults for the rest.
///
/// # Errors
///
/// As [`bind_inputs`].
pub fn bind_outputs(
    declared: &BTreeMap<String, Declared>,
    mut given: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, LanguageError> {
    if let Some(name) = given.keys().find(|name| !declared.contains_key(*name)) {
        return Err(LanguageError::new(format!(
            "it has no output \"{name}\"{}",
            known(declared.keys())
        )));
    }
    let mut bound = BTreeMap::new();
    for (name, output) in declared {
        let value = match given.remove(name) {
            Some(value) => checked(
                "output",
                name,
                value,
                output.value_type,
                output.is_sensitive,
            )?,
            None => output
                .default
                .clone()
                .ok_or_else(|| format!("it did not set output \"{name}\", which has no default"))?,
        };
        bound.insert(name.clone(), value);
    }
    Ok(bound)
}

fn known<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() {
        return "; none are declared".to_owned();
    }
    format!("; declared are {}", names.join(", "))
}

fn checked(
    what: &str,
    name: &str,
    value: Value,
    value_type: ValueType,
    may_be_secret: bool,
) -> Result<Value, LanguageError> {
    if value.value_type() != Some(value_type) {
        return Err(LanguageError::new(format!(
            "{what} \"{name}\" is {}, not {}",
            value.type_with_article(),
            value_type.with_article()
        )));
    }
    if value.has_secrets() && !may_be_secret {
        return Err(LanguageError::new(format!(
            "{what} \"{name}\" would be a secret, but is not declared with `sensitive: true`"
        )));
    }
    Ok(value.sensitive_if(may_be_secret))
}

/// Reads the output or export file of a process: lines with a JSON object with `name` and `value`. The last line with a
/// name counts.
///
/// # Errors
///
/// Names the invalid line, without any value.
pub fn written(text: &str) -> Result<BTreeMap<String, Value>, LanguageError> {
    let mut values = BTreeMap::new();
    let lines = text.lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |words: &str| LanguageError::at(index + 1, None, words);
        let json = serde_json::from_str::<serde_json::Value>(line);
        let json = json.map_err(|_| wrong("expected a JSON object with `name` and `value`"))?;
        let name = json.get("name").and_then(serde_json::Value::as_str);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(wrong("`name` is missing, or not a string"));
        };
        let Some(value) = json.get("value").filter(|value| !value.is_null()) else {
            return Err(wrong("`value` is missing"));
        };
        values.insert(name.to_owned(), Value::from(value));
    }
    Ok(values)
}

/// Returns values as environment variables.
///
/// # Errors
///
/// Names the value that cannot be a variable.
pub fn exported(
    values: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, String>, LanguageError> {
    let variable = |(name, value): (String, Value)| {
        let text = match value.kind {
            Kind::Text(_) | Kind::Number(_) | Kind::Boolean(_) => value.to_text(),
            _ => {
                let of = value.type_with_article();
                return Err(LanguageError::new(format!(
                    "variable \"{name}\" is {of}; only strings, numbers and booleans can be exported"
                )));
            }
        };
        if name.contains(['=', '\0']) || text.contains('\0') {
            return Err(LanguageError::new(format!(
                "variable {name:?} has a name or value that no environment can hold"
            )));
        }
        Ok((name, text))
    };
    values.into_iter().map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(json: &serde_json::Value) -> BTreeMap<String, Value> {
        match Value::from(json).kind {
            Kind::Struct(values) => values,
            _ => panic!("expected named values"),
        }
    }

    fn inputs() -> BTreeMap<String, Declared> {
        let input = |value_type, default: Option<serde_json::Value>, is_sensitive| Declared {
            value_type,
            default: default.as_ref().map(Value::from),
            is_sensitive,
        };
        BTreeMap::from([
            ("name".to_owned(), input(ValueType::Text, None, false)),
            (
                "count".to_owned(),
                input(ValueType::Number, Some(json!(1)), false),
            ),
            (
                "token".to_owned(),
                input(ValueType::Text, Some(json!("")), true),
            ),
        ])
    }

    #[test]
    fn inputs_are_given_or_default() {
        let bound = bind_inputs(&inputs(), values(&json!({"name": "a"}))).unwrap();
        assert_eq!(
            bound.to_json(),
            json!({"name": "a", "count": 1, "token": ""})
        );
        let mut given = values(&json!({"name": "a", "count": 2}));
        given.insert("token".to_owned(), Value::text("s").sensitive_if(true));
        let bound = bind_inputs(&inputs(), given).unwrap();
        assert!(bound.has_secrets() && !bound.is_sensitive);
    }

    #[test]
    fn mismatches_are_reported() {
        let check = |given: serde_json::Value, expect: &str| {
            assert_eq!(
                bind_inputs(&inputs(), values(&given))
                    .unwrap_err()
                    .to_string(),
                expect
            );
        };
        check(json!({}), "it requires input \"name\" of type string");
        check(
            json!({"name": "a", "x": 1}),
            "it has no input \"x\"; declared are count, name, token",
        );
        check(
            json!({"name": 1}),
            "input \"name\" is a number, not a string",
        );
        check(
            json!({"name": null}),
            "input \"name\" is null, not a string",
        );
        check(
            json!({"name": []}),
            "input \"name\" is an array, not a string",
        );
        let secret = BTreeMap::from([("name".to_owned(), Value::text("s").sensitive_if(true))]);
        assert_eq!(
            bind_inputs(&inputs(), secret).unwrap_err().to_string(),
            "input \"name\" would be a secret, but is not declared with `sensitive: true`"
        );
        let none = BTreeMap::new();
        assert_eq!(
            bind_outputs(&none, values(&json!({"a": 1})))
                .unwrap_err()
                .to_string(),
            "it has no output \"a\"; none are declared"
        );
        let output = Declared {
            value_type: ValueType::Text,
            default: None,
            is_sensitive: true,
        };
        let declared = BTreeMap::from([("a".to_owned(), output)]);
        let given = bind_outputs(&declared, values(&json!({"a": "s"}))).unwrap();
        assert!(given["a"].is_sensitive);
        assert!(bind_outputs(&declared, BTreeMap::new()).is_err());
    }

    #[test]
    fn output_file_is_read_by_line() {
        let text = "{\"name\":\"a\",\"value\":1}\n\n {\"name\":\"b\",\"value\":[\"x\"]}\r\n{\"name\":\"a\",\"value\":2}";
        let read = Value::named(written(text).unwrap());
        assert_eq!(read.to_json(), json!({"a": 2, "b": ["x"]}));
        let check =
            |text: &str, expect: &str| assert_eq!(written(text).unwrap_err().to_string(), expect);
        check(
            "a=b",
            "line 1: expected a JSON object with `name` and `value`",
        );
        check("\n[1]", "line 2: `name` is missing, or not a string");
        check(
            "{\"name\":\"\",\"value\":1}",
            "line 1: `name` is missing, or not a string",
        );
        check(
            "{\"name\":\"a\",\"value\":null}",
            "line 1: `value` is missing",
        );
        check("{\"name\":\"a\"}", "line 1: `value` is missing");
    }

    #[test]
    fn texts_numbers_and_booleans_are_exported() {
        let given = values(&json!({"A": "x", "B": 1e20, "C": true, "D": 2.5, "E": 3}));
        let variables = exported(given).unwrap();
        let shown: Vec<_> = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            shown,
            ["A=x", "B=100000000000000000000", "C=true", "D=2.5", "E=3"]
        );
        assert!(exported(values(&json!({"A": []}))).is_err());
        assert!(exported(values(&json!({"A=B": "x"}))).is_err());
    }
}
