use super::input::InputDefinition;
use super::rule::read_rules;
use super::value::{InputKind, MOST_OPTIONS, Role};
use crate::pattern::Pattern;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::suggest::did_you_mean;
use yaml::{Entry, Kind, Node};

const KEYS: [&str; 6] = [
    "default",
    "description",
    "options",
    "regex",
    "rules",
    "type",
];

/// Reads an input of a job; `path` is `jobs:NAME`.
///
/// Such an input needs a default, and has no rules. Returns nothing after an error.
pub(crate) fn read_job_input(
    path: &str,
    name: &Arc<str>,
    entry: &Entry,
    diagnostics: &mut Diagnostics,
) -> Option<InputDefinition> {
    let mut collected = Vec::new();
    let input_path = format!("{path}:inputs:{name}");
    let keys = KEYS.into_iter().filter(|key| *key != "rules");
    let definition = read(
        &input_path,
        name,
        entry,
        &keys.collect::<Vec<_>>(),
        &mut collected,
    );
    if let Some(definition) = &definition {
        match &definition.default {
            Some(default) if !default.is_null() => {
                let value = definition.kind.coerce(default);
                let options = definition.options.as_deref();
                for problem in definition.problems(&value, Role::Default, options) {
                    let message = format!("{path} `{name}` input: {problem}");
                    collected.push(Diagnostic::error("invalid-input", message).at(default.span));
                }
            }
            default => {
                let span = default.as_ref().map_or(entry.key_span, |node| node.span);
                let message = format!("{input_path} config must have a default value");
                let help =
                    "inputs of jobs are not prompted for, so each needs a `default`".to_owned();
                let diagnostic = Diagnostic::error("invalid-input", message).at(span);
                collected.push(diagnostic.with_help(help));
            }
        }
    }
    let is_valid = collected.is_empty();
    for diagnostic in collected {
        diagnostics.push(diagnostic);
    }
    definition.filter(|_| is_valid)
}

/// Reads an input of a header; `path` is that of the definition.
pub(super) fn read_header_input(
    path: &str,
    name: &Arc<str>,
    entry: &Entry,
    collected: &mut Vec<Diagnostic>,
) -> Option<InputDefinition> {
    let definition = read(path, name, entry, &KEYS, collected);
    if let Some(fields) = entry.value.as_mapping()
        && let Some(rules) = fields.get("rules")
    {
        for other in ["options", "default"] {
            if let Some(field) = fields.get(other) {
                let message =
                    format!("{path} config these keys cannot be used together: rules, {other}");
                let diagnostic =
                    Diagnostic::error("exclusive-keywords", message).at(field.key_span);
                collected.push(diagnostic.with_related(rules.key_span, "`rules` is given here"));
            }
        }
    }
    definition
}

fn read(
    path: &str,
    name: &Arc<str>,
    entry: &Entry,
    known: &[&str],
    collected: &mut Vec<Diagnostic>,
) -> Option<InputDefinition> {
    let before = collected.len();
    let mut definition = InputDefinition {
        name: Arc::clone(name),
        key_span: entry.key_span,
        kind: InputKind::default(),
        default: None,
        options: None,
        regex: None,
        rules: None,
    };
    if !entry.key_is_text && matches!(name.as_ref(), "true" | "false" | "") {
        let message = format!("{path} key must be an alphanumeric string");
        collected.push(Diagnostic::error("invalid-value", message).at(entry.key_span));
    }
    if entry.value.is_null() {
        return Some(definition);
    }
    let mut refuse = |node: &Node, words: &str, help: Option<String>| {
        let message = format!("{path} config {words}");
        let diagnostic = Diagnostic::error("invalid-value", message).at(node.span);
        collected.push(diagnostic.with_help(help));
    };
    let Some(fields) = entry.value.as_mapping() else {
        refuse(&entry.value, "should be a hash", None);
        return None;
    };
    let mut unknown = Vec::new();
    for (key, field) in fields {
        let node = &field.value;
        match key.as_ref() {
            _ if !known.contains(&key.as_ref()) => unknown.push((key, field.key_span)),
            "default" => definition.default = Some(Arc::clone(node)),
            "description" => {
                let is_text = matches!(node.kind, Kind::Null | Kind::String(_) | Kind::Int(_));
                (!is_text)
                    .then(|| refuse(node, "description must be an alphanumeric string", None));
            }
            "type" => {
                if let Some(kind) = read_kind(node) {
                    definition.kind = kind;
                } else {
                    let names = InputKind::ALL.map(InputKind::name);
                    let help = did_you_mean(node.as_str().unwrap_or_default(), names);
                    let names = names.join(", ");
                    let words = format!("type unknown value, must be one of: {names}");
                    refuse(node, &words, help);
                }
            }
            "options" | "regex" if node.is_null() => {}
            "options" => match node.as_sequence() {
                Some(options) => {
                    if options.len() > MOST_OPTIONS {
                        let words = format!("cannot define more than {MOST_OPTIONS} options");
                        refuse(node, &words, None);
                    }
                    if let Some(null) = options.iter().find(|option| option.is_null()) {
                        refuse(null, "options array cannot contain null values", None);
                    }
                    definition.options = Some(options.to_vec());
                }
                None => refuse(node, "options should be an array", None),
            },
            "regex" => match node.as_str().map(|source| Pattern::new(source, "")) {
                Some(Ok(pattern)) => definition.regex = Some(pattern),
                Some(Err(error)) => {
                    let words = format!("regex is an invalid regular expression: {error}");
                    refuse(node, &words, None);
                }
                None => refuse(node, "regex should be a string", None),
            },
            _ => {}
        }
    }
    if let Some(&(first, span)) = unknown.first() {
        let names: Vec<&str> = unknown.iter().map(|(key, _)| key.as_ref()).collect();
        let message = format!("{path} config contains unknown keys: {}", names.join(", "));
        let diagnostic = Diagnostic::error("unknown-keyword", message).at(span);
        collected.push(diagnostic.with_help(did_you_mean(first, known.iter().copied())));
    }
    check_kind(path, &definition, &entry.value, collected);
    if known.contains(&"rules")
        && let Some(rules) = fields.get("rules").filter(|rules| !rules.value.is_null())
    {
        definition.rules = Some(read_rules(path, &definition, &rules.value, collected));
    }
    (collected.len() == before).then_some(definition)
}

/// Refuses keys that the type does not permit.
fn check_kind(
    path: &str,
    definition: &InputDefinition,
    node: &Node,
    collected: &mut Vec<Diagnostic>,
) {
    let InputDefinition { name, kind, .. } = definition;
    let mut refuse = |key: &str, words: &str| {
        let fields = node.as_mapping();
        let span = fields
            .and_then(|fields| fields.get(key))
            .map_or(node.span, |at| at.key_span);
        let message = format!("{path} `{name}` input: {words}");
        collected.push(Diagnostic::error("invalid-input", message).at(span));
    };
    if definition.options.is_some() && !matches!(kind, InputKind::String | InputKind::Number) {
        refuse(
            "options",
            "options can only be used with string and number inputs",
        );
    }
    if definition.regex.is_some() && *kind != InputKind::String {
        refuse(
            "regex",
            "RegEx validation can only be used with string inputs",
        );
    }
}

fn read_kind(node: &Node) -> Option<InputKind> {
    if node.is_null() {
        return Some(InputKind::default());
    }
    let name = node.as_str()?;
    InputKind::ALL.into_iter().find(|kind| kind.name() == name)
}
