use super::{check, check_errors, resolve};
use pipeline::config::RulesKeyword;
use pipeline::rules::RefPattern;
use serde_json::json;

#[test]
fn rules_are_flattened_and_keep_their_texts() {
    let text = "
a: {stage: build, script: x, parallel: 2}
job:
  script: x
  rules:
    - if: $A == 'x'
      changes: [a, b]
      variables: {N: 1}
      needs: [a]
    - [[{exists: f, allow_failure: true}], {if: , when: delayed, start_in: 1h}]
    - {changes: {paths: [c], compare_to: main}, interruptible: false}
";
    let need = |job: &str| json!({"job": job, "artifacts": true, "optional": false});
    let expect = json!([
        {
            "if": "$A == 'x'", "changes": {"paths": ["a", "b"]}, "variables": {"N": "1"},
            "needs": [need("a 1/2"), need("a 2/2")],
        },
        {"exists": {"paths": ["f"]}, "allow_failure": true},
        {"when": "delayed", "start_in": "1h"},
        {"changes": {"paths": ["c"], "compare_to": "main"}, "interruptible": false},
    ]);
    check(text, "job", &json!({"rules": expect, "only": null}));
}

#[test]
fn without_rules_a_job_runs_for_branches_and_tags() {
    let only = |text: &str| {
        let job = resolve(text).jobs.remove(0);
        job.only.map(|only| only.refs.clone().unwrap_or_default())
    };
    let names = |names: &[&str]| {
        let names = names
            .iter()
            .map(|name| RefPattern::Name((*name).to_owned()));
        Some(names.collect::<Vec<_>>())
    };
    let default = names(&["branches", "tags"]);
    assert_eq!(only("j: {script: x}"), default);
    assert_eq!(only("j: {script: x, only: }"), default);
    assert_eq!(only("j: {script: x, only: {changes: [a]}}"), default);
    assert_eq!(only("j: {script: x, only: [web]}"), names(&["web"]));
    assert_eq!(only("j: {script: x, rules: }"), None);
    assert_eq!(
        only("workflow: {rules: [{when: always}]}\nj: {script: x}"),
        None
    );
    let job = resolve("j: {script: x, rules: }").jobs.remove(0);
    assert_eq!(job.rules, RulesKeyword::Null);
}

#[test]
fn each_error_in_a_rule_has_a_location() {
    let rule = "jobs:job:rules:rule";
    for (given, message, place) in [
        ("[]", "jobs:job:rules config can't be blank", "[]"),
        (
            "{if: $A}",
            "jobs:job:rules config should be an array of hashes",
            "{if: $A}",
        ),
        (
            "[text]",
            &*format!("{rule} config should be a hash"),
            "text",
        ),
        ("[{}]", &format!("{rule} config can't be blank"), "{}"),
        (
            "[{iff: $A}]",
            &format!("{rule} config contains unknown keys: iff"),
            "iff",
        ),
        (
            "[{when: later}]",
            &format!(
                "{rule} when should be one of: on_success, on_failure, always, never, manual, delayed"
            ),
            "later",
        ),
        (
            "[{if: 1}]",
            &format!("{rule} if should be a string, not a number"),
            "1",
        ),
        (
            "[{when: delayed}]",
            &format!("{rule} config with `when: delayed` needs `start_in`"),
            "when",
        ),
        (
            "[{if: $A, start_in: 1h}]",
            &format!("{rule} config may have `start_in` only with `when: delayed`"),
            "start_in",
        ),
        (
            "[{changes: {compare_to: main}}]",
            &format!("{rule}:changes config missing required keys: paths"),
            "{compare_to: main}",
        ),
        (
            "[{exists: {paths: [a], ref: b}}]",
            &format!("{rule}:exists config with `ref` needs `project`"),
            "ref",
        ),
        (
            "[{if: $A, variables: {B: {value: x}}}]",
            &format!(
                "{rule}:variables:b config must be a string: a rule sets no `expand` or `description`"
            ),
            "{value: x}",
        ),
        (
            "[{if: $A, needs: [zip]}]",
            "job job: undefined need: zip",
            "zip",
        ),
    ] {
        check_errors(
            &format!("job: {{script: x, rules: {given}}}"),
            &[&format!("{message} @ {place}")],
        );
    }
}

#[test]
fn an_invalid_condition_is_shown_at_its_error() {
    let text = "job: {script: x, rules: [{if: \"$A == x\"}]}";
    let checked = pipeline::ResolvedPipeline::from_text("ci.yml", text);
    let error = checked.diagnostics.errors().next().unwrap();
    assert_eq!(error.code, "invalid-expression");
    let place = &text[error.span.unwrap().bytes()];
    assert!(place.starts_with('x'), "{place}");
    // The suggested quotes are escaped as those around the condition require.
    for (condition, help) in [
        (r#""$A == x""#, r#"put quotes around it: `\"x\"`"#),
        ("$A == x", r#"put quotes around it: `"x"`"#),
        ("'$A == ''x'", "add a `''`"),
    ] {
        let text = format!("job: {{script: x, rules: [{{if: {condition}}}]}}");
        let found = pipeline::ResolvedPipeline::from_text("ci.yml", &text).diagnostics;
        let error = found.errors().next().expect("an error");
        assert_eq!(error.help.as_deref(), Some(help), "{condition}");
    }
}

#[test]
fn errors_in_shared_rules_are_reported_once() {
    let text = "
.base: {rules: [{when: later}]}
a: {extends: .base, script: x}
b: {extends: .base, script: x}
";
    let checked = pipeline::ResolvedPipeline::from_text("ci.yml", text);
    assert_eq!(checked.diagnostics.errors().count(), 1);
}

#[test]
fn only_and_except_accept_refs_and_conditions() {
    for (given, message, place) in [
        (
            "main",
            "has to be either an array of conditions or a hash",
            "main",
        ),
        (
            "[1]",
            "should be an array of strings or regular expressions",
            "1",
        ),
        ("{}", "can't be blank", "{}"),
        ("{when: x}", "contains unknown keys: when", "when"),
    ] {
        for key in ["only", "except"] {
            check_errors(
                &format!("job: {{script: x, {key}: {given}}}"),
                &[&format!("jobs:job:{key} config {message} @ {place}")],
            );
        }
    }
    let job = resolve("j: {script: x, except: [/^v.*$/i, '/x/@g/p', a@g/p]}")
        .jobs
        .remove(0);
    let refs = job.except.as_ref().unwrap().refs.clone().unwrap();
    let RefPattern::Pattern { project, .. } = &refs[1] else {
        panic!("{refs:?}");
    };
    assert_eq!(project.as_deref(), Some("g/p"));
    assert_eq!(refs[2], RefPattern::Name("a@g/p".to_owned()));
}
