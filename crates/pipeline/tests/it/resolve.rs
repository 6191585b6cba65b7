//! The resolution of composed files.

use crate::plans::resolve;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Compares some fields of a job, as `list --json` shows them.
fn check(text: &str, job: &str, expect: &Value) {
    let resolved = resolve(text);
    let job = resolved
        .job(job)
        .unwrap_or_else(|| panic!("no {job} in {text}"));
    let got = serde_json::to_value(job).unwrap();
    for (field, expect) in expect.as_object().unwrap() {
        assert_eq!(&got[field], expect, "{field} of\n{text}");
    }
}

#[test]
fn defaults_are_inherited_whole_and_only_for_absent_keywords() {
    let default =
        "default: {image: ruby, tags: [a], retry: {max: 2, when: always}, after_script: [d]}\n";
    check(
        &format!("{default}j: {{script: x, tags: [], retry: 1, after_script: null}}"),
        "j",
        &json!({
            "image": {"name": "ruby"}, "tags": [], "retry": {"max": 1}, "after_script": ["d"]
        }),
    );
    check(
        &format!("{default}j: {{script: x, inherit: {{default: [image]}}}}"),
        "j",
        &json!({"image": {"name": "ruby"}, "tags": null, "retry": null}),
    );
    check(
        "image: old\nj: {script: x}\nk: {script: x, inherit: {default: false}}",
        "j",
        &json!({"image": {"name": "old"}}),
    );
}

#[test]
fn variables_are_merged_and_can_be_excluded() {
    let text = "
variables: {A: root, B: {value: root, expand: false, description: d}, N: 0755}
j: {script: x, variables: {A: job}}
k: {script: x, inherit: {variables: [B]}}
l: {script: x, inherit: {variables: false}}
";
    check(
        text,
        "j",
        &json!({"variables": {"A": "job", "B": "root", "N": "493"}, "job_variables": {"A": "job"}}),
    );
    check(text, "k", &json!({"variables": {"B": "root"}}));
    check(text, "l", &json!({"variables": {}}));
}

#[test]
fn scripts_are_flattened() {
    let text = "
.steps: &steps [b, [c]]
j:
  before_script: [!reference [.setup, script]]
  script: [a, *steps]
.setup: {script: [s1, s2]}
";
    check(
        text,
        "j",
        &json!({"script": ["a", "b", "c"], "before_script": ["s1", "s2"]}),
    );
}

#[test]
fn when_and_allow_failure_depend_on_each_other() {
    check(
        "j: {script: x}",
        "j",
        &json!({"when": "on_success", "allow_failure": false}),
    );
    check(
        "j: {script: x, when: manual}",
        "j",
        &json!({"allow_failure": true}),
    );
    check(
        "j: {script: x, when: manual, allow_failure: false}",
        "j",
        &json!({"allow_failure": false}),
    );
    check(
        "j: {script: x, allow_failure: {exit_codes: 3}}",
        "j",
        &json!({"allow_failure": false, "allow_failure_exit_codes": [3]}),
    );
}

#[test]
fn parallel_jobs_are_expanded_and_needs_follow() {
    let text = "
a: {script: x, parallel: 2}
b: {script: x, parallel: {matrix: [{OS: [l, m], V: [1]}, {OS: w}]}, variables: {OS: own}}
c: {script: x, needs: [a, 'b: [m, 1]']}
";
    let names: Vec<String> = resolve(text)
        .jobs
        .iter()
        .map(|job| job.definition.name.clone())
        .collect();
    assert_eq!(
        names,
        ["a 1/2", "a 2/2", "b: [l, 1]", "b: [m, 1]", "b: [w]", "c"]
    );
    check(
        text,
        "b: [m, 1]",
        &json!({"node_index": 2, "parallel_total": 3, "variables": {"OS": "m", "V": "1"}}),
    );
    check(
        text,
        "c",
        &json!({"scheduling": "dag", "needs": [
            {"job": "a 1/2", "artifacts": true, "optional": false},
            {"job": "a 2/2", "artifacts": true, "optional": false},
            {"job": "b: [m, 1]", "artifacts": true, "optional": false}
        ]}),
    );
}

#[test]
fn stages_keep_their_order_between_pre_and_post() {
    let stages = |text: &str| resolve(text).stages;
    assert_eq!(
        stages("j: {script: x}"),
        [".pre", "build", "test", "deploy", ".post"]
    );
    assert_eq!(
        stages("stages: [one, .post, [two], .pre]\nj: {stage: one, script: x}"),
        [".pre", "one", "two", ".post"]
    );
}

#[test]
fn an_empty_item_of_needs_is_ignored() {
    check(
        "j:\n  script: x\n  needs:\n    -\n",
        "j",
        &json!({"needs": [], "scheduling": "dag"}),
    );
}

#[test]
fn an_optional_need_may_be_absent() {
    check(
        "j: {script: x, needs: [{job: gone, optional: true}]}",
        "j",
        &json!({"needs": [{"job": "gone", "artifacts": true, "optional": true}]}),
    );
}

#[test]
fn keywords_without_an_effect_are_kept() {
    let text = "j: {script: x, environment: prod, resource_group: g, coverage: '/a/'}";
    check(
        text,
        "j",
        &json!({"environment": {"name": "prod", "action": "start"}, "resource_group": "g", "coverage": "a"}),
    );
}

#[test]
fn ten_thousand_jobs_are_resolved() {
    let mut text = ".base: &base {image: i, tags: [t], retry: 1}\n".to_owned();
    for job in 0..10_000 {
        let need = if job == 0 {
            String::new()
        } else {
            format!("j{}", job - 1)
        };
        writeln!(
            text,
            "j{job}:\n  <<: *base\n  script: [x]\n  needs: [{need}]"
        )
        .unwrap();
    }
    assert_eq!(resolve(&text).jobs.len(), 10_000);
}
