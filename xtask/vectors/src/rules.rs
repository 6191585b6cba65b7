//! The kind `rules`: a list of rules, what they are evaluated with, and what becomes of the job.

use super::files::FilesInput;
use super::variables::VariablesInput;
use executor_core::variable::JobVariables;
use pipeline::ResolvedPipeline;
use pipeline::context::{Kept, sort_and_expand};
use pipeline::rules::{FileConditions, Rule, RuleContext, first_match};
use serde::Deserialize;
use serde_json::{Value, json};
use yaml::diagnostic::Severity;

#[derive(Deserialize)]
pub(super) struct Input {
    rules: Value,
    #[serde(default)]
    variables: VariablesInput,
    #[serde(default = "on_success")]
    default_when: Value,
    #[serde(flatten)]
    files: FilesInput,
}

fn on_success() -> Value {
    "on_success".into()
}

pub(super) fn result(input: &Input) -> Value {
    // JSON is YAML, so that the rules are read as those of any file.
    let file = json!({"job": {"script": "x", "rules": input.rules}}).to_string();
    let checked = ResolvedPipeline::from_text(super::config::NAME, &file);
    let resolved = match checked.into_result() {
        Ok((resolved, _)) => resolved,
        Err(found) => return json!({"error": found.records(Severity::Error)}),
    };
    let rules = resolved
        .jobs
        .first()
        .map_or(&[][..], |job| job.rules.entries());
    let repository = input.files.repository(None);
    let variables = input.variables.values();
    let expanded = sort_and_expand(input.variables.variables(), Kept::default());
    let expanded: JobVariables = expanded.unwrap_or_default().into_iter().collect();
    let context = RuleContext {
        variables: &variables,
        expanded: &expanded,
        files: &FileConditions::new(&repository),
    };
    match first_match(rules, &context) {
        Ok(found) => outcome(found.and_then(|at| rules.get(at)), &input.default_when),
        Err(error) => json!({"when": "never", "pass": false, "error": error.to_string()}),
    }
}

fn outcome(found: Option<&Rule>, default_when: &Value) -> Value {
    let Some(rule) = found else {
        return json!({"when": "never", "pass": false});
    };
    let when = rule.when.map_or(default_when.clone(), |when| json!(when));
    json!({
        "pass": when != "never",
        "when": when,
        "start_in": rule.start_in,
        "allow_failure": rule.allow_failure,
        "variables": rule.variables,
        "interruptible": rule.interruptible,
    })
}
