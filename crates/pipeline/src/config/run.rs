//! `run`: the steps of a job without a script.

use super::reader::{Field, Reader};
use executor_core::job::{GitStep, OciStep, RunStep, StepReference};
use indexmap::IndexMap;
use serde_json::Value;
use yaml::Kind;

const KEYS: [&str; 6] = ["name", "script", "step", "func", "inputs", "env"];
/// The kinds of steps; a step has exactly one of these keys.
const KINDS: [&str; 3] = ["script", "step", "func"];

/// Reads `run`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<RunStep>> {
    let Some(items) = field.node.as_sequence() else {
        let help = "write a list of steps: `- name: build` with `script:`, `step:` or `func:`";
        reader.refuse_with_help(field, "should be an array", Some(help.to_owned()));
        return None;
    };
    if items.is_empty() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    let path = field.path.child("step");
    let mut steps = Vec::with_capacity(items.len());
    for node in items {
        steps.extend(read_step(reader, Field { node, path: &path }));
    }
    Some(steps)
}

fn read_step(reader: &mut Reader<'_>, field: Field<'_>) -> Option<RunStep> {
    reader.mapping(field)?;
    let mut step = RunStep::default();
    reader.require(field, &["name"]);
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "name" => step.name = read_name(reader, field).unwrap_or_default(),
        "script" => step.script = reader.text(field),
        "step" => step.step = read_reference(reader, field),
        "func" => step.func = read_reference(reader, field),
        "inputs" => step.inputs = read_inputs(reader, field),
        _ => step.env = read_env(reader, field),
    });
    reader.exclude(field, &KINDS);
    let is_given = |key: &str| field.node.get(key).is_some_and(|value| !value.is_null());
    if !KINDS.iter().any(|key| is_given(key)) {
        let help = "a step runs a `script:` or calls a `step:`".to_owned();
        reader.refuse_with_help(field, "needs `script`, `step` or `func`", Some(help));
    }
    if is_given("script") && is_given("inputs") {
        let help = "a script has no inputs; pass variables with `env:`".to_owned();
        let words = "these keys cannot be used together: script, inputs";
        reader.refuse_with_help(field, words, Some(help));
    }
    Some(step)
}

fn read_name(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let name = reader.text(field)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_word) {
        let words = "should start with a letter or '_', followed by letters, digits and '_'";
        let fixed: String = name
            .chars()
            .map(|c| if is_word(c) { c } else { '_' })
            .collect();
        let fixed = match fixed.chars().next() {
            Some('0'..='9') => format!("_{fixed}"),
            _ => fixed,
        };
        reader.refuse_with_help(field, words, Some(format!("for example `{fixed}`")));
        return None;
    }
    Some(name)
}

fn read_reference(reader: &mut Reader<'_>, field: Field<'_>) -> Option<StepReference> {
    if field.node.as_str().is_some() {
        return reader.text(field).map(StepReference::Text);
    }
    let Some(entries) = field.node.as_mapping() else {
        reader.refuse(field, "should be a hash or a string");
        return None;
    };
    let known = ["git", "oci"];
    reader.check_keys(field, entries, &known);
    reader.exclude(field, &known);
    let mut reference = None;
    reader.entry(field, "git", |reader, field| {
        reference = read_git(reader, field).map(StepReference::Git);
    });
    reader.entry(field, "oci", |reader, field| {
        reference = read_oci(reader, field).map(StepReference::Oci);
    });
    if entries.is_empty() {
        reader.refuse(field, "needs `git` or `oci`");
    }
    reference
}

fn read_git(reader: &mut Reader<'_>, field: Field<'_>) -> Option<GitStep> {
    reader.mapping(field)?;
    let mut step = GitStep::default();
    reader.require(field, &["url", "rev"]);
    let known = ["url", "rev", "dir", "file"];
    reader.attributes(field, &known, |reader, key, field| {
        let text = reader.text(field);
        match key {
            "url" => step.url = text.unwrap_or_default(),
            "rev" => step.rev = text.unwrap_or_default(),
            "dir" => step.dir = text,
            _ => step.file = text,
        }
    });
    Some(step)
}

fn read_oci(reader: &mut Reader<'_>, field: Field<'_>) -> Option<OciStep> {
    reader.mapping(field)?;
    let mut step = OciStep::default();
    reader.require(field, &["registry", "repository", "tag"]);
    let known = ["registry", "repository", "tag", "dir", "file"];
    reader.attributes(field, &known, |reader, key, field| {
        let text = reader.text(field);
        match key {
            "registry" => step.registry = text.unwrap_or_default(),
            "repository" => step.repository = text.unwrap_or_default(),
            "tag" => step.tag = text.unwrap_or_default(),
            "dir" => step.dir = text,
            _ => step.file = text,
        }
    });
    Some(step)
}

fn read_inputs(reader: &mut Reader<'_>, field: Field<'_>) -> Option<IndexMap<String, Value>> {
    let entries = reader.mapping(field)?.iter();
    let json = entries.map(|(name, entry)| (name.to_string(), entry.value.to_json()));
    Some(json.collect())
}

fn read_env(reader: &mut Reader<'_>, field: Field<'_>) -> Option<IndexMap<String, String>> {
    let mut env = IndexMap::new();
    reader.each(field, |reader, name, field| {
        let text = match field.node.kind {
            Kind::Null => Some(String::new()),
            _ => reader.string(field),
        };
        env.extend(text.map(|text| (name.to_owned(), text)));
    })?;
    Some(env)
}
