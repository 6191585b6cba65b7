use super::definition::read_header_input;
use super::input::InputDefinition;
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;
use yaml::source::Span;
use yaml::suggest::did_you_mean;
use yaml::{Kind, Mapping, Node};

/// The fields of a component.
const COMPONENT: [&str; 4] = ["name", "sha", "version", "reference"];

/// The maximum length of a file's description, in characters.
const LONGEST_DESCRIPTION: usize = 256;

/// The keys of an entry of `spec:include`.
const INCLUDE: [&str; 6] = ["local", "file", "remote", "project", "ref", "integrity"];

/// The validated header of a file.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The inputs in file order.
    pub(super) inputs: Vec<InputDefinition>,
    /// The value of `spec:include`, unless null.
    pub(super) include: Option<Arc<Node>>,
    /// The fields of the component that the content may refer to.
    pub(super) component: Vec<Arc<str>>,
}

/// Reads a header; errors are added to `collected`.
pub(super) fn read(node: &Node, collected: &mut Vec<Diagnostic>) -> Header {
    let mut header = Header::default();
    let Some(fields) = hash("header", node, collected) else {
        return header;
    };
    check_keys("header", fields, &["spec"], collected);
    let Some(spec) = value(fields, "spec") else {
        return header;
    };
    let path = "header:spec";
    let Some(spec) = hash(path, spec, collected) else {
        return header;
    };
    let known = ["inputs", "include", "component", "description"];
    check_keys(path, spec, &known, collected);
    if let Some(inputs) = value(spec, "inputs") {
        header.inputs = read_inputs("header:spec:inputs", inputs, collected);
    }
    if let Some(include) = value(spec, "include") {
        check_include("header:spec:include", include, collected);
        header.include = Some(Arc::clone(include));
    }
    if let Some(component) = value(spec, "component") {
        header.component = read_component("header:spec:component", component, collected);
    }
    if let Some(description) = value(spec, "description") {
        check_description("header:spec:description", description, collected);
    }
    header
}

/// Reads a file that a header includes, which may contain only `inputs`.
pub(super) fn read_included(node: &Node, collected: &mut Vec<Diagnostic>) -> Vec<InputDefinition> {
    let path = "header:include";
    let Some(fields) = hash(path, node, collected) else {
        return Vec::new();
    };
    check_keys(path, fields, &["inputs"], collected);
    let inputs = value(fields, "inputs");
    inputs.map_or_else(Vec::new, |inputs| {
        read_inputs("header:include:inputs", inputs, collected)
    })
}

fn read_inputs(path: &str, node: &Node, collected: &mut Vec<Diagnostic>) -> Vec<InputDefinition> {
    let Some(entries) = hash(path, node, collected) else {
        return Vec::new();
    };
    let read = entries.iter().filter_map(|(name, entry)| {
        read_header_input(&format!("{path}:{name}"), name, entry, collected)
    });
    read.collect()
}

fn check_include(path: &str, node: &Node, collected: &mut Vec<Diagnostic>) {
    let items = node.as_sequence().map(<[_]>::iter);
    for item in items.into_iter().flatten() {
        check_include_entry(path, item, collected);
    }
    if node.as_sequence().is_none() {
        check_include_entry(path, node, collected);
    }
}

fn check_include_entry(path: &str, node: &Node, collected: &mut Vec<Diagnostic>) {
    match &node.kind {
        Kind::String(_) => {}
        Kind::Mapping(fields) => check_keys(path, fields, &INCLUDE, collected),
        _ => refuse(path, node.span, "should be a hash or a string", collected),
    }
}

fn read_component(path: &str, node: &Node, collected: &mut Vec<Diagnostic>) -> Vec<Arc<str>> {
    let Some(items) = node.as_sequence() else {
        refuse(path, node.span, "should be an array", collected);
        return Vec::new();
    };
    let mut names: Vec<Arc<str>> = Vec::new();
    for item in items {
        match &item.kind {
            Kind::String(name) if COMPONENT.contains(&name.as_ref()) => {
                names.push(Arc::clone(name));
            }
            Kind::String(name) => {
                let message = format!("{path} config contains unknown values: {name}");
                let diagnostic = Diagnostic::error("invalid-value", message).at(item.span);
                collected.push(diagnostic.with_help(did_you_mean(name, COMPONENT)));
            }
            _ => refuse(path, item.span, "should be an array of strings", collected),
        }
    }
    names
}

fn check_description(path: &str, node: &Node, collected: &mut Vec<Diagnostic>) {
    match node.as_str() {
        Some(text) if text.chars().count() <= LONGEST_DESCRIPTION => {}
        Some(_) => {
            let words = format!("is too long (maximum is {LONGEST_DESCRIPTION} characters)");
            refuse(path, node.span, &words, collected);
        }
        None => refuse(path, node.span, "should be a string", collected),
    }
}

/// Returns the value of a key, unless it is null.
fn value<'n>(fields: &'n Mapping, key: &str) -> Option<&'n Arc<Node>> {
    let entry = fields.get(key)?;
    (!entry.value.is_null()).then_some(&entry.value)
}

fn hash<'n>(path: &str, node: &'n Node, collected: &mut Vec<Diagnostic>) -> Option<&'n Mapping> {
    let fields = node.as_mapping();
    if fields.is_none() {
        refuse(path, node.span, "should be a hash", collected);
    }
    fields
}

fn check_keys(path: &str, fields: &Mapping, known: &[&str], collected: &mut Vec<Diagnostic>) {
    let unknown = |key: &&str| !known.contains(key);
    let keys: Vec<&str> = fields.keys().map(AsRef::as_ref).filter(unknown).collect();
    let Some(&first) = keys.first() else {
        return;
    };
    let message = format!("{path} config contains unknown keys: {}", keys.join(", "));
    let diagnostic = Diagnostic::error("unknown-keyword", message).at(fields[first].key_span);
    collected.push(diagnostic.with_help(did_you_mean(first, known.iter().copied())));
}

fn refuse(path: &str, span: Span, words: &str, collected: &mut Vec<Diagnostic>) {
    let message = format!("{path} config {words}");
    collected.push(Diagnostic::error("invalid-value", message).at(span));
}
