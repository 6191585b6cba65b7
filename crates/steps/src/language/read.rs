//! From the text of a file to what it describes.

use super::fields::{Fields, check_name, shown};
use super::function::{Action, Call, Exec, Function, Input, Output, Outputs, Sequence, Target};
use super::reference::{File, Place, Reference, with_scheme};
use super::value::{Value, ValueType};
use super::yaml;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// More steps than this in one sequence are refused.
const MOST_STEPS: usize = 100_000;

impl Function {
    /// Reads the two documents of a file: the specification, and the definition.
    ///
    /// # Errors
    ///
    /// Says what is wrong, and where. No text of a script is in the words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut documents = yaml::documents(text)?.into_iter();
        match (documents.next(), documents.next(), documents.next()) {
            (Some(spec), Some(definition), None) => Self::of(spec, definition),
            _ => Err(
                "it has two documents: `spec:`, and behind a line `---` what the step does"
                    .to_owned(),
            ),
        }
    }

    fn of(spec: Json, definition: Json) -> Result<Self, String> {
        let mut document = Fields::of("", spec)?;
        let mut spec = Fields::of("spec", document.take("spec").unwrap_or_default())?;
        document.end()?;
        let inputs = inputs(spec.take("inputs"))?;
        let outputs = outputs(spec.take("outputs"))?;
        spec.end()?;
        let mut function = Self::definition(definition)?;
        function.inputs = inputs;
        function.outputs = outputs;
        function.agrees()?;
        Ok(function)
    }

    /// Reads what a step does, which takes and gives nothing.
    pub(super) fn definition(definition: Json) -> Result<Self, String> {
        let mut fields = Fields::of("", definition)?;
        let env = fields.take_env()?;
        let action = match (fields.take("exec"), fields.has("run")) {
            (Some(_), true) => {
                return Err("it has both `exec` and `run`, and does one of them".to_owned());
            }
            (Some(exec), false) => Action::Exec(self::exec(exec)?),
            (None, true) => Action::Run(Sequence {
                steps: calls(fields.take("run").unwrap_or_default())?,
                outputs: fields.take_arguments("outputs")?,
                delegate: fields.take_text("delegate")?,
            }),
            (None, false) => {
                return Err("it has neither `exec` nor `run`, and does nothing".to_owned());
            }
        };
        fields.end()?;
        Ok(Self {
            env,
            action,
            ..Self::default()
        })
    }

    /// Reads steps that stand alone, as `run` of a job has them: a list, a definition, or two documents.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn of_job(text: &str) -> Result<Self, String> {
        let mut documents = yaml::documents(text)?;
        let definition = match documents.len() {
            1 | 2 => documents.pop().unwrap_or_default(),
            0 => return Err("there are no steps".to_owned()),
            _ => return Err("there are more than two documents".to_owned()),
        };
        let is_step = |map: &serde_json::Map<String, Json>| {
            ["script", "step", "func"]
                .iter()
                .any(|key| map.contains_key(*key))
        };
        let definition = match definition {
            Json::Array(_) => serde_json::json!({ "run": definition }),
            Json::Object(map) if is_step(&map) => serde_json::json!({ "run": [map] }),
            other => other,
        };
        Self::definition(definition)
    }

    /// Says so if what it gives is not what it does.
    fn agrees(&self) -> Result<(), String> {
        let Action::Run(sequence) = &self.action else {
            return Ok(());
        };
        match (&self.outputs, &sequence.delegate) {
            (Outputs::Delegated, None) => {
                Err("`outputs: delegate` needs a `delegate: STEP` behind the `---`".to_owned())
            }
            (Outputs::Declared(_), Some(_)) => {
                Err("`delegate` needs `outputs: delegate` in the specification".to_owned())
            }
            (Outputs::Delegated, Some(step)) => {
                let is_there = sequence.steps.iter().any(|call| call.name == *step);
                let missing = || format!("`delegate`: there is no step `{}`", shown(step));
                is_there.then_some(()).ok_or_else(missing)
            }
            (Outputs::Declared(declared), None) => {
                let unknown = sequence
                    .outputs
                    .keys()
                    .find(|name| !declared.contains_key(*name));
                match unknown {
                    Some(name) => Err(format!("`outputs.{name}` is not in the specification")),
                    None => Ok(()),
                }
            }
        }
    }
}

/// What inputs and outputs say alike.
struct Declared {
    value_type: ValueType,
    default: Option<Value>,
    is_sensitive: bool,
}

fn declared(of: &str, json: Option<Json>) -> Result<Vec<(String, Declared)>, String> {
    let map = match json {
        None => return Ok(Vec::new()),
        Some(Json::Object(map)) => map,
        Some(_) => return Err(format!("spec: `{of}` is no mapping of names to types")),
    };
    let read = |(name, value): (String, Json)| {
        check_name(&name).map_err(|wrong| format!("{of}: {wrong}"))?;
        let mut fields = Fields::of(&format!("{of}.{name}"), value)?;
        let named = fields.take_text("type")?;
        let value_type = named.as_deref().and_then(ValueType::named);
        let value_type = value_type.ok_or_else(|| {
            fields.wrong("its `type` is one of string, number, boolean, struct and array")
        })?;
        let default = fields.take("default").map(|json| Value::from(&json));
        if let Some(default) = default
            .as_ref()
            .filter(|it| it.value_type() != Some(value_type))
        {
            let words = format!(
                "its default is a {}, not a {value_type}",
                default.type_name()
            );
            return Err(fields.wrong(words));
        }
        let is_sensitive = fields.take_flag("sensitive")?;
        fields.take_text("description")?;
        fields.end()?;
        Ok((
            name,
            Declared {
                value_type,
                default: default.map(|it| it.sensitive_if(is_sensitive)),
                is_sensitive,
            },
        ))
    };
    map.into_iter().map(read).collect()
}

fn inputs(json: Option<Json>) -> Result<BTreeMap<String, Input>, String> {
    let input = |(name, of): (String, Declared)| {
        let Declared {
            value_type,
            default,
            is_sensitive,
        } = of;
        (
            name,
            Input {
                value_type,
                default,
                is_sensitive,
            },
        )
    };
    Ok(declared("inputs", json)?.into_iter().map(input).collect())
}

fn outputs(json: Option<Json>) -> Result<Outputs, String> {
    if json.as_ref().and_then(Json::as_str) == Some("delegate") {
        return Ok(Outputs::Delegated);
    }
    let output = |(name, of): (String, Declared)| {
        let Declared {
            value_type,
            default,
            is_sensitive,
        } = of;
        (
            name,
            Output {
                value_type,
                default,
                is_sensitive,
            },
        )
    };
    let outputs = declared("outputs", json)?.into_iter().map(output);
    Ok(Outputs::Declared(outputs.collect()))
}

fn exec(json: Json) -> Result<Exec, String> {
    let mut fields = Fields::of("exec", json)?;
    let command = fields.take_templates("command")?;
    if command.is_empty() {
        return Err(fields.wrong("`command` is missing: a list of the program and its arguments"));
    }
    let work_dir = fields.take_template("work_dir")?;
    fields.end()?;
    Ok(Exec { command, work_dir })
}

fn calls(json: Json) -> Result<Vec<Call>, String> {
    let Json::Array(list) = json else {
        return Err("`run` is no list".to_owned());
    };
    if list.is_empty() {
        return Err("there are no steps".to_owned());
    }
    if list.len() > MOST_STEPS {
        return Err(format!("there are more than {MOST_STEPS} steps"));
    }
    let steps = list.into_iter().enumerate();
    steps
        .map(|(index, value)| call(&format!("step {}", index + 1), value))
        .collect()
}

fn call(place: &str, json: Json) -> Result<Call, String> {
    if !json.is_object() {
        return Err(format!("{place}: it is no mapping of keys to values"));
    }
    let mut fields = Fields::of(place, json)?;
    let name = fields.take_text("name")?;
    let name = name.ok_or_else(|| fields.wrong("`name` is missing"))?;
    check_name(&name).map_err(|wrong| fields.wrong(format_args!("its name {wrong}")))?;
    if fields.has("action") {
        return Err(
            fields.wrong("`action` is not supported: GitLab has taken it out of the language")
        );
    }
    let script = fields.take_template("script")?;
    let (function, step) = (fields.take("func"), fields.take("step"));
    let inputs = fields.take_arguments("inputs")?;
    let target = match (script, function, step) {
        (Some(_), None, None) if !inputs.is_empty() => {
            return Err(fields.wrong("a `script` takes no `inputs`"));
        }
        (Some(script), None, None) => Target::Script(script),
        (None, Some(of), None) | (None, None, Some(of)) => {
            let reference = reference(of).map_err(|wrong| fields.wrong(wrong))?;
            Target::Function(reference)
        }
        _ => return Err(fields.wrong("it has one of `func`, `step` and `script`")),
    };
    let env = fields.take_env()?;
    fields.end()?;
    Ok(Call {
        name,
        target,
        inputs,
        env,
    })
}

fn reference(json: Json) -> Result<Reference, String> {
    match json {
        Json::String(text) => Reference::parse(&text),
        Json::Object(_) => {
            let mut fields = Fields::of("", json)?;
            let place = match (fields.take("git"), fields.take("oci")) {
                (Some(git), None) => self::git(git)?,
                (None, Some(oci)) => self::oci(oci)?,
                _ => return Err("a reference has one of `git` and `oci`".to_owned()),
            };
            fields.end()?;
            Ok(Reference::Fixed(place))
        }
        _ => Err("a reference is a text, or has `git` or `oci`".to_owned()),
    }
}

fn git(json: Json) -> Result<Place, String> {
    let mut fields = Fields::of("git", json)?;
    let url = needed(&mut fields, "url")?;
    let rev = needed(&mut fields, "rev")?;
    let file = file(&mut fields)?;
    fields.end()?;
    Ok(Place::Git {
        url: with_scheme(&url),
        rev,
        file,
    })
}

fn oci(json: Json) -> Result<Place, String> {
    let mut fields = Fields::of("oci", json)?;
    let place = Place::Oci {
        registry: needed(&mut fields, "registry")?,
        repository: needed(&mut fields, "repository")?,
        tag: needed(&mut fields, "tag")?,
        file: file(&mut fields)?,
    };
    fields.end()?;
    Ok(place)
}

fn needed(fields: &mut Fields, key: &str) -> Result<String, String> {
    let text = fields.take_text(key)?.filter(|text| !text.is_empty());
    text.ok_or_else(|| fields.wrong(format_args!("`{key}` is missing")))
}

fn file(fields: &mut Fields) -> Result<File, String> {
    let directory = fields.take_text("dir")?.unwrap_or_default();
    let name = fields.take_text("file")?;
    let leads_out = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leads_out(&directory) || name.as_deref().is_some_and(|name| name.contains('/')) {
        return Err(fields.wrong("`dir` is below the root, and `file` is in it"));
    }
    Ok(File {
        directory: directory.trim_matches('/').to_owned(),
        name,
    })
}
