use super::input::{InputDefinition, InputRule};
use super::value::{MOST_OPTIONS, is_option};
use crate::expression::Expression;
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;
use yaml::suggest::did_you_mean;
use yaml::{Kind, Node};

const KEYS: [&str; 3] = ["if", "options", "default"];

/// Reads the rules of the input whose definition is at `path`.
pub(super) fn read_rules(
    path: &str,
    definition: &InputDefinition,
    node: &Node,
    collected: &mut Vec<Diagnostic>,
) -> Vec<InputRule> {
    let Some(items) = node.as_sequence() else {
        let message = format!("{path}:rules config should be an array");
        collected.push(Diagnostic::error("invalid-value", message).at(node.span));
        return Vec::new();
    };
    let path = format!("{path}:rules:rule");
    let rules = items
        .iter()
        .map(|item| read_rule(&path, definition, item, collected));
    rules.collect()
}

fn read_rule(
    path: &str,
    definition: &InputDefinition,
    node: &Node,
    collected: &mut Vec<Diagnostic>,
) -> InputRule {
    let mut rule = InputRule {
        condition: None,
        options: Vec::new(),
        default: None,
    };
    let mut refuse = |node: &Node, words: &str| {
        let message = format!("{path} config {words}");
        collected.push(Diagnostic::error("invalid-value", message).at(node.span));
    };
    let Some(fields) = node.as_mapping() else {
        refuse(node, "should be a hash");
        return rule;
    };
    if fields.is_empty() {
        refuse(node, "can't be blank");
        return rule;
    }
    let mut has_options = false;
    for (key, field) in fields {
        let value = &field.value;
        match (key.as_ref(), &value.kind) {
            ("if" | "options" | "default", Kind::Null) => {}
            ("if", Kind::String(text)) => match Expression::parse(text) {
                Ok(expression) => rule.condition = Some(Arc::new(expression)),
                Err(error) => refuse(value, &format!("if invalid expression syntax: {error}")),
            },
            ("if", _) => refuse(value, "if should be a string"),
            ("options", Kind::Sequence(options)) => {
                has_options = true;
                if options.len() > MOST_OPTIONS {
                    refuse(
                        value,
                        &format!("cannot define more than {MOST_OPTIONS} options"),
                    );
                }
                if let Some(null) = options.iter().find(|option| option.is_null()) {
                    refuse(null, "options array cannot contain null values");
                }
                rule.options.clone_from(options);
            }
            ("options", _) => {
                has_options = true;
                refuse(value, "options should be an array");
            }
            ("default", _) => rule.default = Some(Arc::clone(value)),
            _ => {}
        }
    }
    let unknown: Vec<&str> = fields.keys().map(AsRef::as_ref).collect();
    let unknown: Vec<&str> = unknown
        .into_iter()
        .filter(|key| !KEYS.contains(key))
        .collect();
    if let Some(first) = unknown.first() {
        let message = format!(
            "{path} config contains unknown keys: {}",
            unknown.join(", ")
        );
        let diagnostic = Diagnostic::error("unknown-keyword", message).at(fields[*first].key_span);
        collected.push(diagnostic.with_help(did_you_mean(first, KEYS)));
        return rule;
    }
    let mut refuse = |words: &str, node: &Node| {
        let message = format!("{path} config {words}");
        collected.push(Diagnostic::error("invalid-value", message).at(node.span));
    };
    if !has_options || (rule.options.is_empty() && fields["options"].value.as_sequence().is_some())
    {
        refuse("must define non-empty `options`", node);
    }
    match &rule.default {
        None => refuse("must define a `default`, which is one of its options", node),
        Some(default) if has_options && !rule.options.is_empty() => {
            let value = definition.kind.coerce(default);
            if !rule.options.iter().any(|option| is_option(option, &value)) {
                refuse("default must be one of its options", default);
            }
        }
        Some(_) => {}
    }
    rule
}
