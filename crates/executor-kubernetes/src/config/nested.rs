//! Settings with the structure of an object of Kubernetes, in `snake_case`.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

/// Keys below which the keys are the user's own.
const FREE_KEYS: [&str; 1] = ["match_labels"];

/// Deserializes an object of Kubernetes. A key that it does not have is an error, other than with the type's own deserializer.
pub(super) fn kubernetes_type<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Serialize,
{
    let value = camel_case(Value::deserialize(input)?);
    let object: T = serde_json::from_value(value.clone()).map_err(D::Error::custom)?;
    match unknown_field(&value, &object) {
        None => Ok(Some(object)),
        Some(field) => Err(D::Error::custom(format!("unknown field `{field}`"))),
    }
}

/// Returns a field of `value` that `object`, which was deserialized from it, does not have.
pub(crate) fn unknown_field(value: &Value, object: &impl Serialize) -> Option<String> {
    let object = serde_json::to_value(object).unwrap_or_default();
    missing(value, &object)
}

fn missing(value: &Value, other: &Value) -> Option<String> {
    match (value, other) {
        (Value::Object(fields), Value::Object(others)) => {
            let mut fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields.find_map(|(key, value)| match others.get(key) {
                None => Some(key.clone()),
                Some(other) => missing(value, other).map(|rest| format!("{key}.{rest}")),
            })
        }
        (Value::Array(items), Value::Array(others)) => {
            let mut pairs = items.iter().zip(others);
            pairs.find_map(|(item, other)| missing(item, other))
        }
        _ => None,
    }
}

fn camel_case(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().map(field).collect::<Map<_, _>>().into(),
        Value::Array(items) => items.into_iter().map(camel_case).collect(),
        value => value,
    }
}

fn field((key, value): (String, Value)) -> (String, Value) {
    match (&*key, value) {
        // Two keys of GitLab that differ from those of Kubernetes.
        ("selinux_type", value) => ("seLinuxOptions".to_owned(), json!({ "type": value })),
        ("proc_mount", Value::String(word)) => {
            ("procMount".to_owned(), capitalized(word.trim()).into())
        }
        (_, value) => {
            let mut words = key.split('_');
            let first = words.next().unwrap_or_default().to_owned();
            let camel = words.fold(first, |name, word| name + &capitalized(word));
            let value = if FREE_KEYS.contains(&&*key) {
                value
            } else {
                camel_case(value)
            };
            (camel, value)
        }
    }
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
    first.to_ascii_uppercase() + rest
}
