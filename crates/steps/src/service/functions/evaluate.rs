//! Evaluates the texts of a function.

use super::frame::{Env, Frame, Names};
use crate::language::expression::{ExpressionError, Template};
use crate::language::{
    Exec, Function, Kind, LanguageError, Outputs, Sequence, Value, bind_outputs,
};
use crate::service::state::Failure;
use crate::wire::v1::result::ErrorKind;
use std::collections::BTreeMap;
use std::fmt;

/// Evaluates the outputs of a sequence.
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
        let value = value.map_err(|error| step_failure(format!("output \"{name}\": {error}")))?;
        given.insert(name.clone(), value);
    }
    bind_outputs(declared, given).map_err(step_failure)
}

/// Evaluates a command and its directory.
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

/// Evaluates the variables of a step or a function.
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

/// Evaluates a text to a string; `what` names it in messages.
pub(super) fn text_of(template: &Template, names: &Names, what: &str) -> Result<String, Failure> {
    plain(&evaluated(template, names, what)?, what)
}

fn plain(value: &Value, what: &str) -> Result<String, Failure> {
    let text = value.to_text();
    if text.contains('\0') {
        return Err(step_failure(format!("{what} would contain a NUL byte")));
    }
    Ok(text)
}

fn evaluated(template: &Template, names: &Names, what: &str) -> Result<Value, Failure> {
    let value = template.evaluate(names);
    value.map_err(|error: ExpressionError| step_failure(format!("{what}: {error}")))
}

/// Returns the failure of a step that cannot run.
pub(super) fn step_failure(words: impl fmt::Display) -> Failure {
    Failure::new(ErrorKind::StepFailure, words.to_string())
}

impl From<LanguageError> for Failure {
    fn from(error: LanguageError) -> Self {
        step_failure(error)
    }
}
