//! The kind `rules`: a list of rules, what they are evaluated with, and what becomes of the job.

use super::of_kind;
use pipeline::ResolvedPipeline;
use pipeline::repository::KnownRepository;
use pipeline::rules::{FileAnswers, Rule, RuleContext, first_match};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

#[derive(Deserialize)]
struct Vector {
    id: String,
    rules: Value,
    #[serde(default)]
    variables: HashMap<String, String>,
    changes: Option<Vec<String>>,
    #[serde(default)]
    repo_files: Vec<String>,
    #[serde(default = "on_success")]
    default_when: Value,
    expect: serde_json::Map<String, Value>,
}

fn on_success() -> Value {
    "on_success".into()
}

#[test]
fn every_rules_vector_holds() {
    // R-GLCI-161 R-GLCI-162 R-PIPE-20
    let vectors: Vec<Vector> = of_kind("rules");
    assert_eq!(vectors.len(), 32);
    let broken: Vec<String> = vectors
        .iter()
        .filter_map(|vector| check(vector).err())
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

fn check(vector: &Vector) -> Result<(), String> {
    let file = json!({"job": {"script": "x", "rules": vector.rules}}).to_string();
    let (pipeline, _) = ResolvedPipeline::from_text("ci.yml", &file)
        .into_result()
        .unwrap();
    let rules = pipeline.jobs[0].rules.entries();
    let repository = KnownRepository {
        changed: vector.changes.clone().map(Into::into),
        files: vector.repo_files.clone().into(),
        ..KnownRepository::default()
    };
    let context = RuleContext {
        variables: &vector.variables,
        expanded: &vector.variables,
        files: &FileAnswers::new(&repository),
    };
    let found = first_match(rules, &context).unwrap().map(|at| &rules[at]);
    let is = outcome(found, &vector.default_when);
    for (name, value) in vector.expect.iter().filter(|(name, _)| *name != "note") {
        if is.get(name) != Some(value) {
            return Err(format!("{}: {name}: is {is}, expect {value}", vector.id));
        }
    }
    Ok(())
}

/// Returns what a vector can expect of the rule that was found.
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
