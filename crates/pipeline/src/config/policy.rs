use super::reader::{Field, Reader, list_help};
use super::rule::read_condition;
use crate::pattern::Pattern;
use crate::rules::{Policy, RefPattern};
use serde_json::{Value, json};
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;
use yaml::source::Span;
use yaml::{Kind, Node};

/// `only` or `except` of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyKeyword {
    /// The location of the value.
    pub span: Span,
    /// The conditions.
    pub policy: Policy,
    /// The value as written; a list becomes `refs`.
    pub written: Value,
}

/// Reads `only` or `except`: refs, or a mapping of conditions.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<PolicyKeyword> {
    let mut policy = Policy::default();
    let written = match &field.node.kind {
        Kind::Sequence(_) => {
            policy.refs = read_refs(reader, field);
            json!({"refs": field.node.to_json()})
        }
        Kind::Mapping(entries) if entries.is_empty() => {
            reader.refuse(field, "can't be blank");
            return None;
        }
        Kind::Mapping(_) => {
            read_conditions(reader, field, &mut policy);
            without_nulls(field.node)
        }
        _ => {
            let words = "has to be either an array of conditions or a hash";
            reader.refuse_with_help(field, words, list_help(field.node));
            return None;
        }
    };
    Some(PolicyKeyword {
        span: field.node.span,
        policy,
        written,
    })
}

fn without_nulls(node: &Node) -> Value {
    let mut value = node.to_json();
    if let Value::Object(entries) = &mut value {
        entries.retain(|_, value| !value.is_null());
    }
    value
}

fn read_conditions(reader: &mut Reader<'_>, field: Field<'_>, policy: &mut Policy) {
    let known = ["refs", "kubernetes", "variables", "changes"];
    reader.attributes(field, &known, |reader, key, field| match key {
        "refs" => policy.refs = read_refs(reader, field),
        "kubernetes" => policy.kubernetes = reader.one_of(field, &[("active", ())]).is_some(),
        "changes" => policy.changes = reader.strings(field),
        _ => {
            if reader.strings(field).is_none() {
                return;
            }
            let items = field.node.as_sequence().unwrap_or_default();
            let conditions = items
                .iter()
                .filter_map(|node| read_condition(reader, Field { node, ..field }));
            policy.variables = Some(conditions.map(|condition| condition.value).collect());
        }
    });
}

fn read_refs(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<RefPattern>> {
    let Some(items) = field.node.as_sequence() else {
        let words = "should be an array of strings or regular expressions";
        reader.refuse_with_help(field, words, list_help(field.node));
        return None;
    };
    let mut refs = Vec::with_capacity(items.len());
    for node in items {
        let item = Field { node, ..field };
        let Some(text) = node.as_str() else {
            reader.refuse(item, "should be an array of strings or regular expressions");
            continue;
        };
        if Pattern::is_literal(text)
            && let Err(error) = Pattern::from_literal(text)
        {
            let message = format!(
                "{} should be an array of strings or regular expressions: {error}",
                field.path.subject()
            );
            let diagnostic = Diagnostic::error("invalid-pattern", message).at(node.span);
            let help = error.help.map(str::to_owned);
            reader.diagnostics.push(diagnostic.with_help(help));
            continue;
        }
        refs.push(ref_pattern(text));
    }
    Some(refs)
}

/// Splits off the project at the first `@`, as GitLab does, even inside an expression.
fn ref_pattern(text: &str) -> RefPattern {
    let (head, project) = match text.split_once('@') {
        Some((head, project)) => (head, Some(project.to_owned())),
        None => (text, None),
    };
    match Pattern::from_literal(head) {
        Ok(pattern) if Pattern::is_literal(head) => RefPattern::Pattern {
            pattern: Arc::new(pattern),
            project,
        },
        _ => RefPattern::Name(text.to_owned()),
    }
}
