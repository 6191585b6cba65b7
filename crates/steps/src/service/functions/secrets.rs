//! The secrets in the values of steps, which the log masks.

use super::evaluate::step_failure;
use crate::language::{Kind, Value};
use crate::service::state::Failure;
use std::collections::HashSet;

/// The limits for the secrets of a request: their number, and their size together. Masking takes some twenty times their
/// memory, in the process that runs all jobs.
const MOST: usize = 10_000;
const LONGEST: usize = 1024 * 1024;

/// The known secrets of a request's steps.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    known: HashSet<String>,
    bytes: usize,
}

impl Secrets {
    /// Returns the new secrets in a value.
    pub(super) fn of(&mut self, value: &Value) -> Result<Vec<String>, Failure> {
        let mut new = Vec::new();
        let mut is_too_much = false;
        hide(value, false, &mut |secret| {
            if is_too_much || self.known.contains(secret) {
                return;
            }
            self.bytes += secret.len();
            is_too_much = self.known.len() == MOST || self.bytes > LONGEST;
            if !is_too_much {
                self.known.insert(secret.to_owned());
                new.push(secret.to_owned());
            }
        });
        if is_too_much {
            return Err(step_failure(format!(
                "the steps have more secrets than can be masked: {MOST} values, and {} KiB of them together",
                LONGEST / 1024
            )));
        }
        Ok(new)
    }
}

/// Shorter numbers are not masked: they occur in too many others.
const SHORTEST_NUMBER: usize = 4;

/// Longer values are masked by their parts alone.
const LONGEST_WHOLE: usize = 4096;

/// Passes all secret texts of a value to `mask`, including numbers, and lists and structs as a whole. Keys are names, not
/// secrets: masking them would hide words like `username` everywhere.
fn hide(value: &Value, is_secret: bool, mask: &mut dyn FnMut(&str)) {
    let is_secret = is_secret || value.is_sensitive;
    match &value.kind {
        Kind::Text(text) if is_secret => mask(text),
        Kind::Number(_) if is_secret => hide_text(&value.to_text(), SHORTEST_NUMBER, mask),
        Kind::Array(values) => {
            hide_whole(value, is_secret, mask);
            for it in values {
                hide(it, is_secret, mask);
            }
        }
        Kind::Struct(values) => {
            hide_whole(value, is_secret, mask);
            for it in values.values() {
                hide(it, is_secret, mask);
            }
        }
        _ => {}
    }
}

/// Masks a list or a struct in its text form.
fn hide_whole(value: &Value, is_secret: bool, mask: &mut dyn FnMut(&str)) {
    if is_secret && value.size() <= LONGEST_WHOLE {
        hide_text(&value.to_text(), SHORTEST_NUMBER, mask);
    }
}

fn hide_text(text: &str, shortest: usize, mask: &mut dyn FnMut(&str)) {
    if text.chars().count() >= shortest {
        mask(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repeated_secrets_count_once_towards_the_limit() {
        let list = |count: usize| {
            let values: Vec<_> = (0..count).map(|it| json!(format!("s3cr3t-{it}"))).collect();
            Value::from(&json!(values)).sensitive_if(true)
        };
        let mut secrets = Secrets::default();
        let most = list(MOST);
        assert_eq!(secrets.of(&most).unwrap().len(), MOST);
        assert!(secrets.of(&most).unwrap().is_empty());
        assert!(secrets.of(&Value::text("x".repeat(LONGEST))).is_ok());
        let failure = Secrets::default().of(&list(MOST + 1)).unwrap_err();
        assert!(failure.message.contains("10000 values"), "{failure:?}");

        let mut secrets = Secrets::default();
        let half = |letter: &str| Value::text(letter.repeat(LONGEST / 2)).sensitive_if(true);
        assert_eq!(secrets.of(&half("x")).unwrap().len(), 1);
        assert_eq!(secrets.of(&half("y")).unwrap().len(), 1);
        let failure = secrets
            .of(&Value::text("z").sensitive_if(true))
            .unwrap_err();
        assert!(failure.message.contains("1024 KiB"), "{failure:?}");
    }

    #[test]
    fn long_secret_numbers_are_masked() {
        let check = |json: serde_json::Value, expect: &[&str]| {
            let mut hidden = Vec::new();
            let mut mask = |text: &str| hidden.push(text.to_owned());
            hide(&Value::from(&json).sensitive_if(true), false, &mut mask);
            assert_eq!(hidden, expect, "{json}");
        };
        check(json!("ab"), &["ab"]);
        check(json!(4096), &["4096"]);
        check(json!(-1.5), &["-1.5"]);
        check(json!(123), &[]);
        check(json!([]), &[]);
        check(json!([7, true]), &["[7,true]"]);
        check(
            json!({"id": "x", "hunter2hunter2": 1e21}),
            &[
                r#"{"hunter2hunter2":1000000000000000000000,"id":"x"}"#,
                "1000000000000000000000",
                "x",
            ],
        );
    }

    #[test]
    fn only_the_secrets_in_a_value_are_masked() {
        let token = Value::text("hunter2").sensitive_if(true);
        let value = Value::named([("hostname1", Value::text("example")), ("token", token)]);
        let mut hidden = Vec::new();
        hide(&value, false, &mut |text| hidden.push(text.to_owned()));
        assert_eq!(hidden, ["hunter2"]);
    }
}
