use super::Spanned;
use super::reader::{Field, Reader};
use super::rule_list::{RulePlace, RulesKeyword};
use super::variables::{self, Place};
use super::{clause, delay, needs};
use crate::expression::Expression;
use crate::rules::{AutoCancel, OnJobFailure, OnNewCommit, Rule};
use executor_core::job::When;
use std::sync::Arc;
use yaml::Kind;
use yaml::diagnostic::Diagnostic;

const JOB_WHEN: [(&str, When); 6] = [
    ("on_success", When::OnSuccess),
    ("on_failure", When::OnFailure),
    ("always", When::Always),
    ("never", When::Never),
    ("manual", When::Manual),
    ("delayed", When::Delayed),
];
const PIPELINE_WHEN: [(&str, When); 2] = [("always", When::Always), ("never", When::Never)];
const ON_NEW_COMMIT: [(&str, OnNewCommit); 3] = [
    ("conservative", OnNewCommit::Conservative),
    ("interruptible", OnNewCommit::Interruptible),
    ("none", OnNewCommit::None),
];
const ON_JOB_FAILURE: [(&str, OnJobFailure); 2] =
    [("none", OnJobFailure::None), ("all", OnJobFailure::All)];

impl RulePlace {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Job => &[
                "if",
                "changes",
                "exists",
                "when",
                "start_in",
                "allow_failure",
                "variables",
                "needs",
                "interruptible",
            ],
            Self::Workflow => &[
                "if",
                "changes",
                "exists",
                "when",
                "variables",
                "auto_cancel",
                "start_in",
                "allow_failure",
                "needs",
            ],
            Self::Include => &["if", "changes", "exists", "when"],
        }
    }

    fn when(self) -> &'static [(&'static str, When)] {
        match self {
            Self::Job => &JOB_WHEN,
            Self::Workflow | Self::Include => &PIPELINE_WHEN,
        }
    }
}

/// Reads `rules`; invalid entries are reported and left out.
pub(crate) fn read_rules(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    place: RulePlace,
) -> RulesKeyword {
    match &field.node.kind {
        Kind::Null => return RulesKeyword::Null,
        Kind::Sequence(items) if !items.is_empty() => {}
        Kind::Sequence(_) => {
            reader.refuse(field, "can't be blank");
            return RulesKeyword::Null;
        }
        _ => {
            let help = field.node.as_mapping().is_some();
            let help = help.then(|| "put `- ` before its first key, to make it a list".to_owned());
            reader.refuse_with_help(field, "should be an array of hashes", help);
            return RulesKeyword::Null;
        }
    }
    let known = (std::ptr::from_ref(field.node), place);
    if let Some(rules) = reader.rules.get(&known) {
        return rules.clone();
    }
    let path = field.path.child("rule");
    let items = reader.flattened(field).unwrap_or_default();
    let mut rules = Vec::with_capacity(items.len());
    for node in items {
        rules.extend(read(reader, Field { node, path: &path }, place));
    }
    let rules = RulesKeyword::List(rules.into());
    reader.rules.insert(known, rules.clone());
    rules
}

/// Reads one entry of `rules`.
fn read(reader: &mut Reader<'_>, field: Field<'_>, place: RulePlace) -> Option<Rule> {
    if reader.mapping(field)?.is_empty() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    let mut rule = Rule::of(field.node.span);
    let mut when_is_known = true;
    reader.attributes(field, place.keys(), |reader, key, field| match key {
        "if" => rule.condition = read_condition(reader, field),
        "when" => {
            rule.when = reader.one_of(field, place.when());
            when_is_known = rule.when.is_some();
        }
        "start_in" => rule.start_in = delay::read(reader, field),
        "allow_failure" => rule.allow_failure = reader.boolean(field),
        "interruptible" => rule.interruptible = reader.boolean(field),
        _ => {}
    });
    read_parts(&mut rule, reader, field, place);
    if place == RulePlace::Job && when_is_known {
        delay::check(reader, field, rule.when == Some(When::Delayed));
    }
    Some(rule)
}

/// Reads the keys that GitLab validates on their own.
fn read_parts(rule: &mut Rule, reader: &mut Reader<'_>, field: Field<'_>, place: RulePlace) {
    let parts = ["changes", "exists", "variables", "needs", "auto_cancel"];
    for key in parts.into_iter().filter(|key| place.keys().contains(key)) {
        reader.entry(field, key, |reader, field| match key {
            "changes" => rule.changes = clause::read_changes(reader, field).map(Box::new),
            "exists" => rule.exists = clause::read_exists(reader, field, place).map(Box::new),
            "variables" => {
                let variables = variables::read(reader, field, Place::Rule);
                rule.variables = variables.unwrap_or_default();
            }
            "needs" => rule.needs = needs::read_in_rule(reader, field, place),
            _ => rule.auto_cancel = read_auto_cancel(reader, field),
        });
    }
}

/// Reads a condition on variables.
pub(super) fn read_condition(
    reader: &mut Reader<'_>,
    field: Field<'_>,
) -> Option<Spanned<Arc<Expression>>> {
    let text = reader.string(field)?;
    match reader.expressions.parse(&text) {
        Ok(expression) => {
            if let Some(range) = expression.reversed_match() {
                let words =
                    "looks for the left text in the right one, which is not a regular expression";
                let message = format!("{} {words}", field.path.subject());
                let span = reader.part_of(field.node, &text, &range);
                let note = Diagnostic::note("reversed-match", message).at(span);
                let help = "write the right side as `/.../` to look for it in the left one";
                reader.diagnostics.push(note.with_help(help.to_owned()));
            }
            Some(Spanned {
                value: expression,
                span: field.node.span,
            })
        }
        Err(error) => {
            let words = "has invalid expression syntax";
            let message = format!("{} {words}: {}", field.path.subject(), error.message);
            let span = reader.part_of(field.node, &text, &error.range);
            let diagnostic = Diagnostic::error("invalid-expression", message).at(span);
            // A suggested quote is escaped as the YAML around it requires.
            let written = reader.written(field.node);
            let help = error.help.map(|help| match written.chars().next() {
                Some('"') => help.replace('"', "\\\""),
                Some('\'') => help.replace('\'', "''"),
                _ => help,
            });
            reader.diagnostics.push(diagnostic.with_help(help));
            None
        }
    }
}

/// Reads `auto_cancel` of the workflow or of one of its rules.
pub(super) fn read_auto_cancel(reader: &mut Reader<'_>, field: Field<'_>) -> Option<AutoCancel> {
    reader.mapping(field)?;
    let mut auto_cancel = AutoCancel::default();
    let known = ["on_new_commit", "on_job_failure"];
    reader.attributes(field, &known, |reader, key, field| match key {
        "on_new_commit" => auto_cancel.on_new_commit = reader.one_of(field, &ON_NEW_COMMIT),
        _ => auto_cancel.on_job_failure = reader.one_of(field, &ON_JOB_FAILURE),
    });
    Some(auto_cancel)
}
