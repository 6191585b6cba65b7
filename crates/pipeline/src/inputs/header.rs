use super::definition::{InputDefinition, read_header_input};
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;
use yaml::source::Span;
use yaml::suggest::did_you_mean;
use yaml::{Kind, Mapping, Node};

/// What a component can be asked of itself.
const COMPONENT: [&str; 4] = ["name", "sha", "version", "reference"];

/// How many characters the description of a file may have.
const LONGEST_DESCRIPTION: usize = 256;

/// What an entry of `spec:include` may say.
const INCLUDE: [&str; 6] = ["local", "file", "remote", "project", "ref", "integrity"];

/// The header of a file, checked.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The inputs in the order of the file.
    pub(super) inputs: Vec<InputDefinition>,
    /// The value of `spec:include`, when it names something.
    pub(super) include: Option<Arc<Node>>,
    /// What the content may know of its component.
    pub(super) component: Vec<Arc<str>>,
}

/// Reads a header; what is wrong is added to the findings.
pub(super) fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Header {
    let mut header = Header::default();
    let Some(fields) = hash("header", node, findings) else {
        return header;
    };
    check_keys("header", fields, &["spec"], findings);
    let Some(spec) = value(fields, "spec") else {
        return header;
    };
    let path = "header:spec";
    let Some(spec) = hash(path, spec, findings) else {
        return header;
    };
    let known = ["inputs", "include", "component", "description"];
    check_keys(path, spec, &known, findings);
    if let Some(inputs) = value(spec, "inputs") {
        header.inputs = read_inputs("header:spec:inputs", inputs, findings);
    }
    if let Some(include) = value(spec, "include") {
        check_include("header:spec:include", include, findings);
        header.include = Some(Arc::clone(include));
    }
    if let Some(component) = value(spec, "component") {
        header.component = read_component("header:spec:component", component, findings);
    }
    if let Some(description) = value(spec, "description") {
        check_description("header:spec:description", description, findings);
    }
    header
}

/// Reads a file that a header includes, which may hold nothing but `inputs`.
pub(super) fn read_included(node: &Node, findings: &mut Vec<Diagnostic>) -> Vec<InputDefinition> {
    let path = "header:include";
    let Some(fields) = hash(path, node, findings) else {
        return Vec::new();
    };
    check_keys(path, fields, &["inputs"], findings);
    let inputs = value(fields, "inputs");
    inputs.map_or_else(Vec::new, |inputs| {
        read_inputs("header:include:inputs", inputs, findings)
    })
}

fn read_inputs(path: &str, node: &Node, findings: &mut Vec<Diagnostic>) -> Vec<InputDefinition> {
    let Some(entries) = hash(path, node, findings) else {
        return Vec::new();
    };
    let read = entries.iter().filter_map(|(name, entry)| {
        read_header_input(&format!("{path}:{name}"), name, entry, findings)
    });
    read.collect()
}

fn check_include(path: &str, node: &Node, findings: &mut Vec<Diagnostic>) {
    let items = node.as_sequence().map(<[_]>::iter);
    for item in items.into_iter().flatten() {
        check_include_entry(path, item, findings);
    }
    if node.as_sequence().is_none() {
        check_include_entry(path, node, findings);
    }
}

fn check_include_entry(path: &str, node: &Node, findings: &mut Vec<Diagnostic>) {
    match &node.kind {
        Kind::String(_) => {}
        Kind::Mapping(fields) => check_keys(path, fields, &INCLUDE, findings),
        _ => refuse(path, node.span, "should be a hash or a string", findings),
    }
}

fn read_component(path: &str, node: &Node, findings: &mut Vec<Diagnostic>) -> Vec<Arc<str>> {
    let Some(items) = node.as_sequence() else {
        refuse(path, node.span, "should be an array", findings);
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
                let finding = Diagnostic::error("invalid-value", message).at(item.span);
                findings.push(finding.with_help(did_you_mean(name, COMPONENT)));
            }
            _ => refuse(path, item.span, "should be an array of strings", findings),
        }
    }
    names
}

fn check_description(path: &str, node: &Node, findings: &mut Vec<Diagnostic>) {
    match node.as_str() {
        Some(text) if text.chars().count() <= LONGEST_DESCRIPTION => {}
        Some(_) => {
            let words = format!("is too long (maximum is {LONGEST_DESCRIPTION} characters)");
            refuse(path, node.span, &words, findings);
        }
        None => refuse(path, node.span, "should be a string", findings),
    }
}

/// Returns the value of a key, unless it is null.
fn value<'n>(fields: &'n Mapping, key: &str) -> Option<&'n Arc<Node>> {
    let entry = fields.get(key)?;
    (!entry.value.is_null()).then_some(&entry.value)
}

fn hash<'n>(path: &str, node: &'n Node, findings: &mut Vec<Diagnostic>) -> Option<&'n Mapping> {
    let fields = node.as_mapping();
    if fields.is_none() {
        refuse(path, node.span, "should be a hash", findings);
    }
    fields
}

fn check_keys(path: &str, fields: &Mapping, known: &[&str], findings: &mut Vec<Diagnostic>) {
    let unknown = |key: &&str| !known.contains(key);
    let keys: Vec<&str> = fields.keys().map(AsRef::as_ref).filter(unknown).collect();
    let Some(&first) = keys.first() else {
        return;
    };
    let message = format!("{path} config contains unknown keys: {}", keys.join(", "));
    let finding = Diagnostic::error("unknown-keyword", message).at(fields[first].key_span);
    findings.push(finding.with_help(did_you_mean(first, known.iter().copied())));
}

fn refuse(path: &str, span: Span, words: &str, findings: &mut Vec<Diagnostic>) {
    let message = format!("{path} config {words}");
    findings.push(Diagnostic::error("invalid-value", message).at(span));
}
