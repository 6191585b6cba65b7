use super::tree::Tree;
use super::{ExplainedField, FieldSource, Location};
use pipeline::config::{Job, JobKind, NeedEntry};
use pipeline::rules::Rule;
use serde_json::{Value, json};
use yaml::source::Span;
use yaml::{Entry, Mapping, Node};

/// The keywords of a job that can also be given at the top level (deprecated).
const GLOBAL: [&str; 5] = [
    "image",
    "services",
    "before_script",
    "after_script",
    "cache",
];
/// The keyword of `default` that jobs do not inherit.
const WITHOUT_EFFECT: &str = "timeout";
/// The keyword of `default` that trigger jobs inherit.
const FOR_TRIGGERS: &str = "interruptible";

/// Returns the keywords of a job with their origins; `rule` is the matching rule.
pub(super) fn of(tree: Tree<'_>, job: &Job, rule: Option<&Rule>) -> Vec<ExplainedField> {
    let mut fields = Vec::new();
    let empty = Mapping::new();
    let own = tree.top(&job.name).unwrap_or(&empty);
    for (key, entry) in own {
        if &**key != "variables" && !entry.value.is_null() {
            add_own(tree, job, key, entry, &mut fields);
        }
    }
    add_defaults(tree, job, own, &mut fields);
    if let Some(rule) = rule {
        for (key, value) in effects(rule) {
            fields.retain(|field| field.key != key);
            let place = tree.place(rule.span);
            let source = FieldSource::Rule;
            fields.push(field(key, value, source, place));
        }
    }
    fields
}

fn field(key: &str, value: Value, source: FieldSource, place: Location) -> ExplainedField {
    ExplainedField {
        key: key.to_owned(),
        value,
        source,
        place,
    }
}

/// Adds a keyword of the job; the entries of a mapping are added separately if they have several
/// origins.
fn add_own(tree: Tree<'_>, job: &Job, key: &str, entry: &Entry, fields: &mut Vec<ExplainedField>) {
    let span = tree.span_of(entry);
    let top = |span: Span| tree.origins.of(span).and_then(|origin| origin.key);
    let parts = entry.value.as_mapping().into_iter().flatten();
    let mut parts = parts.map(|(name, part)| (name, part, tree.span_of(part)));
    let is_elsewhere = |other: Span| other.file != span.file || top(other) != top(span);
    let add = |key: &str, node: &Node, span: Span| {
        let source = match top(span) {
            Some(top) if top != &*job.name => FieldSource::From(top.to_owned()),
            _ => FieldSource::Own,
        };
        field(key, node.to_json(), source, tree.place(span))
    };
    if parts.clone().any(|(_, _, span)| is_elsewhere(span)) {
        fields.extend(parts.by_ref().map(|(name, part, span)| {
            let key = format!("{key}:{name}");
            add(&key, &part.value, span)
        }));
    } else {
        fields.push(add(key, &entry.value, span));
    }
}

/// Adds the keywords that the job inherits.
fn add_defaults(tree: Tree<'_>, job: &Job, own: &Mapping, fields: &mut Vec<ExplainedField>) {
    let is_inherited = |key: &str| {
        let is_given = own.get(key).is_some_and(|entry| !entry.value.is_null());
        let is_allowed = key != WITHOUT_EFFECT && job.inherit.default.includes(key);
        let suits_kind = job.kind != JobKind::Trigger || key == FOR_TRIGGERS;
        !is_given && is_allowed && suits_kind
    };
    let mut add = |key: &str, entry: &Entry, source: FieldSource| {
        if is_inherited(key) && !entry.value.is_null() {
            let place = tree.place(tree.span_of(entry));
            fields.push(field(key, entry.value.to_json(), source, place));
        }
    };
    for (key, entry) in tree.top("default").into_iter().flatten() {
        add(key, entry, FieldSource::Default);
    }
    let root = tree.root.as_mapping();
    for key in GLOBAL {
        if let Some(entry) = root.and_then(|root| root.get(key)) {
            add(key, entry, FieldSource::Global);
        }
    }
}

/// Returns what a rule sets if it matches.
pub(super) fn effects(rule: &Rule) -> Vec<(&'static str, Value)> {
    let needs = rule.needs.as_ref().filter(|needs| !needs.is_empty());
    let needs = needs.map(|needs| needs.iter().map(|need| need_name(&need.value)).collect());
    let effects = [
        ("when", rule.when.map(|when| json!(when))),
        ("start_in", rule.start_in.as_ref().map(|delay| json!(delay))),
        ("allow_failure", rule.allow_failure.map(Value::Bool)),
        ("interruptible", rule.interruptible.map(Value::Bool)),
        ("needs", needs),
    ];
    let effects = effects.into_iter();
    effects
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

fn need_name(need: &NeedEntry) -> &str {
    match need {
        NeedEntry::Job(need) => &need.need.job,
        NeedEntry::Cross(need) => {
            let name = need.job.as_deref().or(need.pipeline.as_deref());
            name.unwrap_or_default()
        }
        NeedEntry::Mirror(pipeline) => pipeline,
    }
}
