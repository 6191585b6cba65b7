//! Masks the results of `FollowSteps` as the log is masked.
//!
//! This is done once, when a result is sent. So the code that creates results need not know the secrets, and values that
//! became secret after a step ended are masked too.

use crate::wire::v1::spec::{Content, content};
use crate::wire::v1::step::Reference;
use crate::wire::v1::step::reference::{PathParts, StepPath};
use crate::wire::v1::step_result::ExecResult;
use crate::wire::v1::{Definition, Spec, SpecDefinition, Step, StepResult, definition};
use prost_types::value::Kind;
use std::collections::BTreeMap;

/// Masks all texts of a result, including keys.
///
/// All fields are named, so that a new one cannot be forgotten.
pub(super) fn mask_result(result: &mut StepResult, mask: &dyn Fn(&str) -> String) {
    let StepResult {
        step,
        spec_definition,
        status: _,
        outputs,
        exports,
        env,
        exec_result,
        sub_step_results,
    } = result;
    if let Some(step) = step {
        mask_step(step, mask);
    }
    if let Some(described) = spec_definition {
        mask_described(described, mask);
    }
    mask_map(outputs, mask, mask_value);
    mask_texts(exports, mask);
    mask_texts(env, mask);
    if let Some(exec) = exec_result {
        let ExecResult {
            command,
            work_dir,
            exit_code: _,
        } = exec;
        mask_list(command, mask);
        mask_text(work_dir, mask);
    }
    for inner in sub_step_results {
        mask_result(inner, mask);
    }
}

fn mask_step(step: &mut Step, mask: &dyn Fn(&str) -> String) {
    let Step {
        name,
        step,
        env,
        inputs,
    } = step;
    mask_text(name, mask);
    if let Some(reference) = step {
        mask_reference(reference, mask);
    }
    mask_texts(env, mask);
    mask_map(inputs, mask, mask_value);
}

fn mask_reference(reference: &mut Reference, mask: &dyn Fn(&str) -> String) {
    let Reference {
        protocol: _,
        url,
        path,
        filename,
        version,
        registry,
        repository,
        tag,
        spec_def,
        step_path,
    } = reference;
    for text in [url, filename, version, registry, repository, tag] {
        mask_text(text, mask);
    }
    mask_list(path, mask);
    if let Some(described) = spec_def {
        mask_described(described, mask);
    }
    match step_path {
        Some(StepPath::PathExp(text)) => mask_text(text, mask),
        Some(StepPath::Paths(PathParts { parts })) => mask_list(parts, mask),
        None => {}
    }
}

fn mask_described(described: &mut SpecDefinition, mask: &dyn Fn(&str) -> String) {
    let SpecDefinition { spec, definition } = described;
    let content = spec.as_mut().and_then(|Spec { spec }| spec.as_mut());
    if let Some(content) = content {
        let Content {
            inputs,
            outputs,
            output_method: _,
        } = content;
        mask_map(inputs, mask, |it: &mut content::Input, mask| {
            if let Some(default) = &mut it.default {
                mask_value(default, mask);
            }
        });
        mask_map(outputs, mask, |it: &mut content::Output, mask| {
            if let Some(default) = &mut it.default {
                mask_value(default, mask);
            }
        });
    }
    if let Some(definition) = definition {
        mask_definition(definition, mask);
    }
}

fn mask_definition(of: &mut Definition, mask: &dyn Fn(&str) -> String) {
    let Definition {
        r#type: _,
        exec,
        steps,
        outputs,
        env,
        delegate,
    } = of;
    if let Some(definition::Exec { command, work_dir }) = exec {
        mask_list(command, mask);
        mask_text(work_dir, mask);
    }
    for step in steps {
        mask_step(step, mask);
    }
    mask_map(outputs, mask, mask_value);
    mask_texts(env, mask);
    mask_text(delegate, mask);
}

fn mask_value(value: &mut prost_types::Value, mask: &dyn Fn(&str) -> String) {
    match &mut value.kind {
        Some(Kind::StringValue(text)) => mask_text(text, mask),
        Some(Kind::NumberValue(number)) => {
            // A number that merely contains the digits of a secret stays a number.
            let shown = mask(&number.to_string());
            if shown == "[MASKED]" {
                value.kind = Some(Kind::StringValue(shown));
            }
        }
        Some(Kind::ListValue(list)) => {
            for value in &mut list.values {
                mask_value(value, mask);
            }
        }
        Some(Kind::StructValue(fields)) => mask_map(&mut fields.fields, mask, mask_value),
        None | Some(Kind::NullValue(_) | Kind::BoolValue(_)) => {}
    }
}

fn mask_texts(texts: &mut BTreeMap<String, String>, mask: &dyn Fn(&str) -> String) {
    mask_map(texts, mask, |text: &mut String, mask| mask_text(text, mask));
}

fn mask_map<V>(
    map: &mut BTreeMap<String, V>,
    mask: &dyn Fn(&str) -> String,
    each: impl Fn(&mut V, &dyn Fn(&str) -> String),
) {
    let masked = std::mem::take(map).into_iter().map(|(key, mut value)| {
        each(&mut value, mask);
        (mask(&key), value)
    });
    *map = masked.collect();
}

fn mask_list(texts: &mut [String], mask: &dyn Fn(&str) -> String) {
    for text in texts {
        mask_text(text, mask);
    }
}

fn mask_text(text: &mut String, mask: &dyn Fn(&str) -> String) {
    *text = mask(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;
    use prost_types::{ListValue, Struct};

    const SECRET: &str = "hunter2";
    const NUMBER: f64 = 40_961_234.0;

    fn masked(text: &str) -> String {
        let number = NUMBER.to_string();
        text.replace(SECRET, "[MASKED]")
            .replace(&number, "[MASKED]")
    }

    fn text() -> String {
        format!("a {SECRET} b")
    }

    fn texts() -> BTreeMap<String, String> {
        BTreeMap::from([(text(), text())])
    }

    fn value(kind: Kind) -> prost_types::Value {
        prost_types::Value { kind: Some(kind) }
    }

    /// Returns values of every kind that can hold a text.
    fn values() -> BTreeMap<String, prost_types::Value> {
        let leaves = || {
            [
                value(Kind::StringValue(text())),
                value(Kind::NumberValue(NUMBER)),
            ]
        };
        let list = value(Kind::ListValue(ListValue {
            values: leaves().to_vec(),
        }));
        let [one, _] = leaves();
        let fields = BTreeMap::from([(text(), one), ("list".to_owned(), list)]);
        BTreeMap::from([(text(), value(Kind::StructValue(Struct { fields })))])
    }

    fn step(path: Option<StepPath>) -> Step {
        Step {
            name: text(),
            step: Some(Reference {
                url: text(),
                path: vec![text()],
                filename: text(),
                version: text(),
                registry: text(),
                repository: text(),
                tag: text(),
                step_path: path,
                ..Reference::default()
            }),
            env: texts(),
            inputs: values(),
        }
    }

    fn described() -> SpecDefinition {
        let default = values().remove(&text());
        let input = content::Input {
            default: default.clone(),
            ..content::Input::default()
        };
        let output = content::Output {
            default,
            ..content::Output::default()
        };
        let parts = vec![text()];
        SpecDefinition {
            spec: Some(Spec {
                spec: Some(Content {
                    inputs: BTreeMap::from([(text(), input)]),
                    outputs: BTreeMap::from([(text(), output)]),
                    ..Content::default()
                }),
            }),
            definition: Some(Definition {
                exec: Some(definition::Exec {
                    command: vec![text()],
                    work_dir: text(),
                }),
                steps: vec![step(Some(StepPath::Paths(PathParts { parts })))],
                outputs: values(),
                env: texts(),
                delegate: text(),
                ..Definition::default()
            }),
        }
    }

    fn result(inner: Vec<StepResult>) -> StepResult {
        let mut step = step(Some(StepPath::PathExp(text())));
        if let Some(reference) = &mut step.step {
            reference.spec_def = Some(described());
        }
        StepResult {
            step: Some(step),
            spec_definition: Some(described()),
            outputs: values(),
            exports: texts(),
            env: texts(),
            exec_result: Some(ExecResult {
                command: vec![text()],
                work_dir: text(),
                exit_code: 3,
            }),
            sub_step_results: inner,
            ..StepResult::default()
        }
    }

    #[test]
    fn secret_is_masked_in_every_text_of_a_result() {
        let mut result = result(vec![result(Vec::new())]);
        let bytes_of_number = NUMBER.to_le_bytes();
        let has = |result: &StepResult, bytes: &[u8]| {
            let all = result.encode_to_vec();
            all.windows(bytes.len()).any(|window| window == bytes)
        };
        assert!(has(&result, SECRET.as_bytes()) && has(&result, &bytes_of_number));
        mask_result(&mut result, &masked);
        assert!(!has(&result, SECRET.as_bytes()), "{:?}", result.outputs);
        assert!(!has(&result, &bytes_of_number), "{:?}", result.outputs);
        assert_eq!(result.exec_result.map(|it| it.exit_code), Some(3));
    }
}
