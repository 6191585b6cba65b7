//! What the texts of a function stand for when its turn comes.

use super::frame::{Env, Frame, Names};
use crate::language::expression::{ExpressionError, Template};
use crate::language::{
    Exec, Function, Kind, LanguageError, Outputs, Sequence, Value, bind_outputs,
};
use crate::service::course::Failure;
use crate::wire::v1::result::ErrorKind;
use std::collections::BTreeMap;
use std::fmt;

/// Returns what a sequence gives.
pub(super) fn outputs_of(
    function: &Function,
    sequence: &Sequence,
    frame: &Frame,
    names: &Names,
) -> Result<BTreeMap<String, Value>, Failure> {
    let declared = match &function.outputs {
        Outputs::Delegated => {
            let step = sequence
                .delegate
                .as_deref()
                .and_then(|step| frame.steps.get(step));
            return match step.map(|outputs| &outputs.kind) {
                Some(Kind::Struct(outputs)) => Ok(outputs.clone()),
                _ => Ok(BTreeMap::new()),
            };
        }
        Outputs::Declared(declared) => declared,
    };
    let mut given = BTreeMap::new();
    for (name, argument) in &sequence.outputs {
        let value_type = declared.get(name).map(|it| it.value_type);
        let value = argument.evaluate_as(value_type, names);
        let value = value.map_err(|error| wrong(format!("output \"{name}\": {error}")))?;
        given.insert(name.clone(), value);
    }
    bind_outputs(declared, given).map_err(wrong)
}

/// Returns the words of a command, and its directory.
pub(super) fn words_of(
    exec: &Exec,
    names: &Names,
) -> Result<(Vec<String>, Option<String>), Failure> {
    let words = exec
        .command
        .iter()
        .map(|word| text_of(word, names, "command"));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let directory = exec.work_dir.as_ref();
    let directory = directory
        .map(|named| text_of(named, names, "work_dir"))
        .transpose()?;
    Ok((words, directory))
}

/// Returns the variables that a step or a function sets.
pub(super) fn env_of(
    templates: &BTreeMap<String, Template>,
    names: &Names,
) -> Result<Env, Failure> {
    let variable = |(name, template): (&String, &Template)| {
        let value = evaluated(template, names, &format!("variable {name}"))?;
        let is_sensitive = value.has_secrets();
        let text = plain(&value, name)?;
        Ok((name.clone(), Value::text(text).sensitive_if(is_sensitive)))
    };
    templates.iter().map(variable).collect()
}

/// Returns what a text stands for, as a text; `what` is its name in messages.
pub(super) fn text_of(template: &Template, names: &Names, what: &str) -> Result<String, Failure> {
    plain(&evaluated(template, names, what)?, what)
}

fn plain(value: &Value, what: &str) -> Result<String, Failure> {
    let text = value.to_text();
    if text.contains('\0') {
        return Err(wrong(format!("{what} would hold a NUL byte")));
    }
    Ok(text)
}

fn evaluated(template: &Template, names: &Names, what: &str) -> Result<Value, Failure> {
    let value = template.evaluate(names);
    value.map_err(|error: ExpressionError| wrong(format!("{what}: {error}")))
}

/// Returns the failure of what nobody could run.
pub(super) fn wrong(words: impl fmt::Display) -> Failure {
    Failure::new(ErrorKind::StepFailure, words.to_string())
}

/// Numbers with a shorter text are not hidden: every other number has them in it.
const SHORTEST_NUMBER: usize = 4;

/// Longer values are hidden by their parts alone.
const LONGEST_WHOLE: usize = 4096;

impl From<LanguageError> for Failure {
    fn from(error: LanguageError) -> Self {
        wrong(error)
    }
}

/// Tells all texts of a value that are secrets, or all of them: also those of its numbers, and it as a whole. Keys are names
/// and no secrets: they would hide words like `username` everywhere.
pub(super) fn hide(value: &Value, is_secret: bool, mask: &mut dyn FnMut(&str)) {
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

/// Hides a list or a struct as it stands in a text.
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
    fn numbers_are_hidden_where_they_are_no_words_of_every_log() {
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
    fn of_a_value_with_secrets_in_it_they_alone_are_hidden() {
        let token = Value::text("hunter2").sensitive_if(true);
        let value = Value::named([("hostname1", Value::text("example")), ("token", token)]);
        let mut hidden = Vec::new();
        hide(&value, false, &mut |text| hidden.push(text.to_owned()));
        assert_eq!(hidden, ["hunter2"]);
    }
}
