//! The steps as a request brings them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::language::yaml;

/// More steps than this are refused.
const MOST_STEPS: usize = 100_000;

/// The longest name of a step.
const LONGEST_NAME: usize = 255;

/// A step that is a script.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct ScriptStep {
    pub(crate) name: String,
    pub(crate) script: String,
    pub(crate) env: BTreeMap<String, String>,
}

/// Reads steps: an array of them, one definition, or specification and definition as two documents.
///
/// # Errors
///
/// Says in words what is wrong, without the text of any script.
pub(crate) fn read(text: &str) -> Result<Vec<ScriptStep>, String> {
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        // Every JSON is YAML too, so its errors are told by the reader of YAML, but for the forms that look like JSON.
        Err(error) if is_json_alone(text) => return Err(json_words(&error)),
        Err(_) => definition(yaml::documents(text)?)?,
    };
    let (list, common) = match value {
        Value::Array(list) => (list, BTreeMap::new()),
        Value::Object(map) => steps_of(map)?,
        Value::Null => return Err("there are none".to_owned()),
        _ => return Err("they are neither a list nor a definition".to_owned()),
    };
    if list.is_empty() {
        return Err("there are none".to_owned());
    }
    if list.len() > MOST_STEPS {
        return Err(format!("there are more than {MOST_STEPS}"));
    }
    let steps = list.into_iter().enumerate();
    steps
        .map(|(index, value)| {
            step(value, &common).map_err(|wrong| format!("step {}: {wrong}", index + 1))
        })
        .collect()
}

/// Whether a text is meant as JSON and nothing else.
fn is_json_alone(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{']) && !text.contains("\n---")
}

fn json_words(error: &serde_json::Error) -> String {
    format!(
        "they are no JSON: error at line {}, column {}",
        error.line(),
        error.column()
    )
}

/// Returns the definition among the documents: the only one, or the second.
fn definition(mut documents: Vec<Value>) -> Result<Value, String> {
    match documents.len() {
        0 => Err("there are none".to_owned()),
        1 | 2 => Ok(documents.pop().unwrap_or_default()),
        _ => Err("there are more than two documents".to_owned()),
    }
}

/// Takes a definition apart, or a step that stands alone.
fn steps_of(mut map: Map<String, Value>) -> Result<(Vec<Value>, BTreeMap<String, String>), String> {
    if map.contains_key("script") {
        return Ok((vec![Value::Object(map)], BTreeMap::new()));
    }
    let run = map.remove("run").or_else(|| map.remove("steps"));
    let env = environment(map.remove("env"))?;
    if let Some(key) = map.keys().next() {
        return Err(match key.as_str() {
            "exec" | "outputs" | "delegate" | "spec" => not_yet(key),
            _ => format!("`{}` is unknown", shown(key)),
        });
    }
    match run {
        Some(Value::Array(list)) => Ok((list, env)),
        Some(_) => Err("`run` is no list".to_owned()),
        None => Err("there are none: `run` is missing".to_owned()),
    }
}

fn step(value: Value, common: &BTreeMap<String, String>) -> Result<ScriptStep, String> {
    let Value::Object(mut map) = value else {
        return Err("it is no mapping of keys to values".to_owned());
    };
    if let Some(key) = ["step", "func", "action", "inputs"]
        .into_iter()
        .find(|key| map.contains_key(*key))
    {
        return Err(not_yet(key));
    }
    let name = text("name", map.remove("name"))?;
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err("its name is empty, too long or holds control characters".to_owned());
    }
    let script = text("script", map.remove("script"))?;
    if script.contains('\0') {
        return Err("its script holds a NUL byte".to_owned());
    }
    let mut env = common.clone();
    env.extend(environment(map.remove("env"))?);
    match map.keys().next() {
        Some(key) => Err(format!("`{}` is unknown", shown(key))),
        None => Ok(ScriptStep { name, script, env }),
    }
}

fn text(key: &str, value: Option<Value>) -> Result<String, String> {
    match value {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{key}` is no text")),
        None => Err(format!("`{key}` is missing")),
    }
}

fn environment(value: Option<Value>) -> Result<BTreeMap<String, String>, String> {
    let map = match value {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map,
        Some(_) => return Err("`env` is no mapping".to_owned()),
    };
    let pair = |(key, value): (String, Value)| match value {
        Value::String(text) => Ok((key, text)),
        Value::Null => Ok((key, String::new())),
        Value::Bool(_) | Value::Number(_) => Ok((key, value.to_string())),
        _ => Err(format!("variable `{}` is no text", shown(&key))),
    };
    map.into_iter().map(pair).collect()
}

fn not_yet(key: &str) -> String {
    format!("`{key}` is not there yet, only steps that are a `script`")
}

/// Returns the beginning of a text from outside, fit for a line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps as `name=script`, with their variables.
    fn words(text: &str) -> Result<String, String> {
        let shown = |step: &ScriptStep| {
            let env = step
                .env
                .iter()
                .map(|(key, value)| format!(" {key}={value}"));
            format!("{}={}{}", step.name, step.script, env.collect::<String>())
        };
        let steps = read(text)?;
        Ok(steps.iter().map(shown).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn all_forms_are_read() {
        let check = |text: &str, expect: &str| {
            assert_eq!(words(text).as_deref(), Ok(expect), "{text}");
        };
        check(
            r#"[{"name":"a","script":"x"},{"name":"b","script":"y"}]"#,
            "a=x, b=y",
        );
        check(r#"{"name":"a","script":"x"}"#, "a=x");
        check(r#"{"run":[{"name":"a","script":"x"}]}"#, "a=x");
        check(
            "{}\n---\n{\"run\":[{\"name\":\"a\",\"script\":\"x\"}]}",
            "a=x",
        );
        check(
            "{}\n---\nrun:\n    - name: a\n      script: |-\n        x\n        y\n",
            "a=x\ny",
        );
        check("spec:\n---\nrun:\n- {name: a, script: 'true'}\n", "a=true");
        check(
            "- name: a\n  script: x\n  env:\n    A: '1'\n    B: 2\n",
            "a=x A=1 B=2",
        );
        check(
            r#"{"env":{"A":"1","B":"1"},"run":[{"name":"a","script":"x","env":{"A":"2"}}]}"#,
            "a=x A=2 B=1",
        );
        check(
            r#"[{"name":"a","script":"x","env":{"A":1,"B":true}}]"#,
            "a=x A=1 B=true",
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, expect: &str| {
            assert_eq!(words(text), Err(expect.to_owned()), "{text}");
        };
        check("", "there are none");
        check("[]", "there are none");
        check("null", "there are none");
        check("7", "they are neither a list nor a definition");
        check("{", "they are no JSON: error at line 1, column 1");
        check(
            "[{\"name\":\"a\"",
            "they are no JSON: error at line 1, column 12",
        );
        check("{\"run\":7}", "`run` is no list");
        check("{\"x\":7}", "`x` is unknown");
        check("[7]", "step 1: it is no mapping of keys to values");
        check(r#"[{"name":"a"}]"#, "step 1: `script` is missing");
        check(r#"[{"script":"a"}]"#, "step 1: `name` is missing");
        check(r#"[{"name":7,"script":"a"}]"#, "step 1: `name` is no text");
        check(
            r#"[{"name":"a","script":"x"},{"name":"b","func":"./b"}]"#,
            "step 2: `func` is not there yet, only steps that are a `script`",
        );
        check(
            r#"{"exec":{"command":["a"]}}"#,
            "`exec` is not there yet, only steps that are a `script`",
        );
        check(
            "a: 1\n---\nb: 1\n---\nc: 1\n",
            "there are more than two documents",
        );
        check(
            "[{\"name\":\"a\",\"script\":\"x\\u0000\"}]",
            "step 1: its script holds a NUL byte",
        );
        check(
            "[{\"name\":\"a\\n\",\"script\":\"x\"}]",
            "step 1: its name is empty, too long or holds control characters",
        );
        check(
            r#"[{"name":"a","script":"x","env":{"A":[]}}]"#,
            "step 1: variable `A` is no text",
        );
    }

    #[test]
    fn ten_thousand_steps_are_read() {
        let step = r#"{"name":"a","script":"true"}"#;
        let text = format!("[{}]", vec![step; 10_000].join(","));
        assert_eq!(read(&text).unwrap().len(), 10_000);
    }
}
