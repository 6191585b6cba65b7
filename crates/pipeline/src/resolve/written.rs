//! Rules in the form of a normalized job: lists flattened, texts as written, absent keys omitted.

use super::ResolvedNeeds;
use crate::rules::{AutoCancel, Changes, Exists, OnJobFailure, OnNewCommit, Rule};
use serde_json::{Map, Value, json};

/// Returns the entries of a list of rules; `needs` are those of each rule, with expanded names.
pub fn rules(rules: &[Rule], needs: &[Option<ResolvedNeeds>]) -> Value {
    let needs = needs.iter().map(Option::as_ref);
    let needs = needs.chain(std::iter::repeat(None));
    rules
        .iter()
        .zip(needs)
        .map(|(each, needs)| rule(each, needs))
        .collect()
}

fn rule(rule: &Rule, needs: Option<&ResolvedNeeds>) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        out.extend(value.map(|value| (key.to_owned(), value)));
    };
    let condition = rule.condition.as_ref();
    put(
        "if",
        condition.map(|condition| condition.value.text().into()),
    );
    put("changes", rule.changes.as_deref().map(changes));
    put("exists", rule.exists.as_deref().map(exists));
    put("when", rule.when.map(|when| json!(when)));
    put("start_in", rule.start_in.clone().map(Value::from));
    put("allow_failure", rule.allow_failure.map(Value::from));
    let variables = (!rule.variables.is_empty()).then(|| json!(rule.variables));
    put("variables", variables);
    put("needs", needs.map(|needs| json!(needs.needs)));
    put("interruptible", rule.interruptible.map(Value::from));
    put("auto_cancel", rule.auto_cancel.map(auto_cancel));
    Value::Object(out)
}

fn changes(changes: &Changes) -> Value {
    let mut out = Map::new();
    match &changes.regexp {
        Some(pattern) => out.insert("regexp".to_owned(), pattern.source().into()),
        None => out.insert("paths".to_owned(), json!(changes.paths)),
    };
    if let Some(reference) = &changes.compare_to {
        out.insert("compare_to".to_owned(), json!(reference.value));
    }
    Value::Object(out)
}

fn exists(exists: &Exists) -> Value {
    let mut out = Map::new();
    match &exists.regexp {
        Some(pattern) => out.insert("regexp".to_owned(), pattern.source().into()),
        None => out.insert("paths".to_owned(), json!(exists.paths)),
    };
    for (key, value) in [("project", &exists.project), ("ref", &exists.reference)] {
        if let Some(value) = value {
            out.insert(key.to_owned(), json!(value));
        }
    }
    Value::Object(out)
}

fn auto_cancel(auto_cancel: AutoCancel) -> Value {
    let mut out = Map::new();
    if let Some(what) = auto_cancel.on_new_commit {
        let word = match what {
            OnNewCommit::Conservative => "conservative",
            OnNewCommit::Interruptible => "interruptible",
            OnNewCommit::None => "none",
        };
        out.insert("on_new_commit".to_owned(), word.into());
    }
    if let Some(what) = auto_cancel.on_job_failure {
        let word = match what {
            OnJobFailure::None => "none",
            OnJobFailure::All => "all",
        };
        out.insert("on_job_failure".to_owned(), word.into());
    }
    Value::Object(out)
}
