//! Which values of a file are secret.

use toml_edit::{Item, TableLike, Value};

/// Words in the names of keys with a secret value.
const WORDS: [&str; 9] = [
    "token",
    "password",
    "secret",
    "accesskey",
    "accountkey",
    "privatekey",
    "sentry_dsn",
    "credential",
    "passphrase",
];

/// Endings of keys that only describe a secret.
const DESCRIPTIONS: [&str; 5] = ["_at", "_allowed", "_file", "credentialsfile", "_path"];

/// Returns whether the value of a key is secret.
pub(super) fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    WORDS.iter().any(|word| key.contains(word))
        && !DESCRIPTIONS.iter().any(|end| key.ends_with(end))
}

/// Returns all secret values of a table: those of keys with such names, and the values of `environment`.
pub(super) fn secrets_of(table: &dyn TableLike) -> Vec<String> {
    let mut found = Vec::new();
    for (key, item) in table.iter() {
        collect(item, is_secret(key), key == "environment", &mut found);
    }
    found
}

fn collect(item: &Item, secret: bool, environment: bool, found: &mut Vec<String>) {
    match item {
        Item::None => {}
        Item::Value(value) => collect_value(value, secret, environment, found),
        Item::Table(table) => collect_table(table, secret, found),
        Item::ArrayOfTables(tables) => {
            tables
                .iter()
                .for_each(|table| collect_table(table, secret, found));
        }
    }
}

fn collect_table(table: &dyn TableLike, secret: bool, found: &mut Vec<String>) {
    for (key, item) in table.iter() {
        collect(item, secret || is_secret(key), key == "environment", found);
    }
}

fn collect_value(value: &Value, secret: bool, environment: bool, found: &mut Vec<String>) {
    match value {
        Value::Array(array) => {
            for value in array {
                collect_value(value, secret, environment, found);
            }
        }
        Value::InlineTable(table) => collect_table(table, secret, found),
        Value::String(text) if secret => found.push(text.value().clone()),
        Value::String(text) if environment => {
            if let Some((_, value)) = text.value().split_once('=') {
                found.push(value.to_owned());
            }
        }
        Value::Integer(number) if secret => found.push(number.value().to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for key in [
            "token",
            "password",
            "SecretKey",
            "AccountKey",
            "bearer_token",
        ] {
            assert!(is_secret(key), "{key}");
        }
        for key in [
            "token_obtained_at",
            "key_file",
            "CredentialsFile",
            "bearer_token_overwrite_allowed",
        ] {
            assert!(!is_secret(key), "{key}");
        }
    }
}
