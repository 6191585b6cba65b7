//! Parses functions.

use super::error::LanguageError;
use super::expression::Template;
use super::fields::{Fields, check_name, shown};
use super::function::{Action, Call, Declared, Exec, Function, Outputs, Sequence, Target};
use super::reference::{PlaceParts, Reference, SourceParts};
use super::value::ValueType;
use super::yaml::{self, Node};
use std::collections::BTreeMap;

/// The greatest number of steps in a sequence.
pub(crate) const MOST_STEPS: usize = 100_000;

impl Function {
    /// Parses a file with two documents: the specification, and the definition.
    ///
    /// # Errors
    ///
    /// Describes the error and its position, without the text of any script.
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        let mut documents = yaml::documents(text)?.into_iter();
        match (documents.next(), documents.next(), documents.next()) {
            (Some(spec), Some(definition), None) => Self::of(spec, definition),
            _ => Err(LanguageError::new(
                "expected two documents: `spec:`, and after a line `---` the definition",
            )),
        }
    }

    fn of(spec: Node, definition: Node) -> Result<Self, LanguageError> {
        let mut document = Fields::of("", spec)?;
        let mut spec = Fields::of("spec", document.take("spec").unwrap_or(Node::Null))?;
        document.end()?;
        let inputs = declared("inputs", spec.take("inputs"))?;
        let outputs = outputs(spec.take("outputs"))?;
        spec.end()?;
        let mut function = Self::definition(definition)?;
        function.inputs = inputs;
        function.outputs = outputs;
        function.agrees()?;
        Ok(function)
    }

    /// Reads a definition.
    pub(super) fn definition(definition: Node) -> Result<Self, LanguageError> {
        let mut fields = Fields::of("", definition)?;
        let env = fields.take_env()?;
        let action = match (fields.take("exec"), fields.has("run")) {
            (Some(_), true) => {
                return Err(LanguageError::new(
                    "expected either `exec` or `run`, found both",
                ));
            }
            (Some(exec), false) => Action::Exec(self::exec(exec)?),
            (None, true) => Action::Run(Sequence {
                steps: calls(fields.take("run").unwrap_or(Node::Null))?,
                outputs: fields.take_arguments("outputs")?,
                delegate: fields.take_text("delegate")?,
            }),
            (None, false) => {
                return Err(LanguageError::new("expected `exec` or `run`"));
            }
        };
        fields.end()?;
        Ok(Self {
            env,
            action,
            ..Self::default()
        })
    }

    /// Parses the `run` of a job: a list, a definition, or two documents.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn of_job(text: &str) -> Result<Self, LanguageError> {
        let mut documents = yaml::documents(text)?;
        let (spec, definition) = match (documents.pop(), documents.pop(), documents.is_empty()) {
            (Some(definition), spec, true) => (spec.unwrap_or(Node::Null), definition),
            (None, ..) => return Err(LanguageError::new("there are no steps")),
            _ => return Err(LanguageError::new("expected at most two documents")),
        };
        let is_step = |map: &BTreeMap<String, Node>| {
            let mut keys = ["script", "step", "func"].into_iter();
            keys.any(|key| map.contains_key(key))
        };
        let run =
            |steps: Vec<Node>| Node::Map(BTreeMap::from([("run".to_owned(), Node::List(steps))]));
        let definition = match definition {
            Node::List(steps) => run(steps),
            Node::Map(map) if is_step(&map) => run(vec![Node::Map(map)]),
            other => other,
        };
        Self::of(spec, definition)
    }

    /// Checks that the outputs match the action.
    fn agrees(&self) -> Result<(), LanguageError> {
        let Action::Run(sequence) = &self.action else {
            return Ok(());
        };
        match (&self.outputs, &sequence.delegate) {
            (Outputs::Delegated, None) => Err(LanguageError::new(
                "`outputs: delegate` requires a `delegate: STEP` after the `---`",
            )),
            (Outputs::Declared(_), Some(_)) => Err(LanguageError::new(
                "`delegate` requires `outputs: delegate` in the specification",
            )),
            (Outputs::Delegated, Some(_)) if !sequence.outputs.is_empty() => Err(
                LanguageError::new("expected either `outputs` or `delegate`, found both"),
            ),
            (Outputs::Delegated, Some(step)) => {
                let is_there = sequence.steps.iter().any(|call| call.name == *step);
                let missing = || format!("`delegate`: unknown step `{}`", shown(step));
                is_there
                    .then_some(())
                    .ok_or_else(missing)
                    .map_err(LanguageError::new)
            }
            (Outputs::Declared(declared), None) => {
                let unknown = sequence
                    .outputs
                    .keys()
                    .find(|name| !declared.contains_key(*name));
                match unknown {
                    Some(name) => Err(LanguageError::new(format!(
                        "`outputs.{name}` is not in the specification"
                    ))),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Reads the declarations of inputs or outputs.
fn declared(of: &str, node: Option<Node>) -> Result<BTreeMap<String, Declared>, LanguageError> {
    let map = match node {
        None => return Ok(BTreeMap::new()),
        Some(Node::Map(map)) => map,
        Some(_) => {
            return Err(LanguageError::new(format!(
                "spec: `{of}` is not a mapping of names to types"
            )));
        }
    };
    let read = |(name, node): (String, Node)| {
        check_name(&name).map_err(|error| format!("{of}: {error}"))?;
        let mut fields = Fields::of(&format!("{of}.{name}"), node)?;
        let named = fields.take_text("type")?;
        let value_type = named.as_deref().and_then(ValueType::named);
        let value_type = value_type.ok_or_else(|| {
            fields.error("expected `type` to be string, number, boolean, struct or array")
        })?;
        let default = fields.take("default").map(|node| node.to_value());
        if let Some(default) = default
            .as_ref()
            .filter(|it| it.value_type() != Some(value_type))
        {
            let words = format!(
                "its default is {}, not {}",
                default.type_with_article(),
                value_type.with_article()
            );
            return Err(fields.error(words));
        }
        let is_sensitive = fields.take_flag("sensitive")?;
        fields.take_text("description")?;
        fields.end()?;
        let declared = Declared {
            value_type,
            default: default.map(|it| it.sensitive_if(is_sensitive)),
            is_sensitive,
        };
        Ok((name, declared))
    };
    map.into_iter().map(read).collect()
}

fn outputs(node: Option<Node>) -> Result<Outputs, LanguageError> {
    match node {
        Some(Node::Plain(word) | Node::Text(word)) if word == "delegate" => Ok(Outputs::Delegated),
        node => declared("outputs", node).map(Outputs::Declared),
    }
}

fn exec(node: Node) -> Result<Exec, LanguageError> {
    let mut fields = Fields::of("exec", node)?;
    let command = fields.take_templates("command")?;
    if command.is_empty() {
        return Err(
            fields.error("`command` is missing: expected a list of the program and its arguments")
        );
    }
    let work_dir = fields.take_template("work_dir")?;
    fields.end()?;
    Ok(Exec { command, work_dir })
}

fn calls(node: Node) -> Result<Vec<Call>, LanguageError> {
    let Node::List(list) = node else {
        return Err(LanguageError::new("`run` is not a list"));
    };
    if list.is_empty() {
        return Err(LanguageError::new("there are no steps"));
    }
    if list.len() > MOST_STEPS {
        return Err(LanguageError::new(format!(
            "there are more than {MOST_STEPS} steps"
        )));
    }
    // Names may repeat, as with GitLab: the outputs of the later step are found by the name.
    let steps = list.into_iter().enumerate();
    let read = |(index, value)| call(&format!("step {}", index + 1), value);
    steps.map(read).collect()
}

fn call(location: &str, node: Node) -> Result<Call, LanguageError> {
    if !matches!(node, Node::Map(_)) {
        return Err(LanguageError::new(format!(
            "{location}: expected a mapping of keys to values"
        )));
    }
    let mut fields = Fields::of(location, node)?;
    let name = fields.take_text("name")?;
    let name = name.ok_or_else(|| fields.error("`name` is missing"))?;
    check_name(&name).map_err(|error| fields.error(format_args!("its name {error}")))?;
    if fields.has("action") {
        return Err(fields.error("`action` is not supported: GitLab removed it from the language"));
    }
    let script = fields.take_template("script")?;
    let (function, step) = (fields.take("func"), fields.take("step"));
    let inputs = fields.take_arguments("inputs")?;
    let target = match (script, function, step) {
        (Some(_), None, None) if !inputs.is_empty() => {
            return Err(fields.error("a `script` has no `inputs`"));
        }
        (Some(script), None, None) => Target::Script(script),
        (None, Some(of), None) | (None, None, Some(of)) => {
            let reference = reference(of).map_err(|error| fields.error(error))?;
            Target::Function(reference)
        }
        _ => return Err(fields.error("expected one of `func`, `step` and `script`")),
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

fn reference(node: Node) -> Result<Reference, LanguageError> {
    match node {
        Node::Plain(text) | Node::Text(text) => Reference::parse(&text),
        Node::Map(_) => {
            let mut fields = Fields::of("", node)?;
            let parts = match (fields.take("git"), fields.take("oci")) {
                (Some(git), None) => git_parts(git)?,
                (None, Some(oci)) => oci_parts(oci)?,
                _ => {
                    return Err(LanguageError::new(
                        "expected either `git` or `oci` in a reference",
                    ));
                }
            };
            fields.end()?;
            Reference::of(parts)
        }
        _ => Err(LanguageError::new(
            "expected a reference: a string, or a mapping with `git` or `oci`",
        )),
    }
}

/// Reads the value of `git`.
fn git_parts(node: Node) -> Result<PlaceParts, LanguageError> {
    let mut fields = Fields::of("git", node)?;
    let source = SourceParts::Git {
        url: required(&mut fields, "url")?,
        rev: required(&mut fields, "rev")?,
    };
    parts_in(source, fields)
}

/// Reads the value of `oci`.
fn oci_parts(node: Node) -> Result<PlaceParts, LanguageError> {
    let mut fields = Fields::of("oci", node)?;
    let source = SourceParts::Oci {
        registry: required(&mut fields, "registry")?,
        repository: required(&mut fields, "repository")?,
        tag: required(&mut fields, "tag")?,
    };
    parts_in(source, fields)
}

fn parts_in(source: SourceParts, mut fields: Fields) -> Result<PlaceParts, LanguageError> {
    let (dir, file) = (fields.take_template("dir")?, fields.take_template("file")?);
    fields.end()?;
    Ok(PlaceParts { source, dir, file })
}

fn required(fields: &mut Fields, key: &str) -> Result<Template, LanguageError> {
    let template = fields.take_template(key)?;
    let template = template.filter(|template| !template.source().is_empty());
    template.ok_or_else(|| fields.error(format_args!("`{key}` is missing")))
}
