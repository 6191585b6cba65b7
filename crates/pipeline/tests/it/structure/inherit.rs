use super::{check, check_errors};
use serde_json::{Value, json};

/// Every keyword of `default` that jobs inherit, a value, and the resulting value of a job.
fn keywords() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("before_script", "[d]", json!(["d"])),
        ("after_script", "[d]", json!(["d"])),
        (
            "hooks",
            "{pre_get_sources_script: [d]}",
            json!({"pre_get_sources_script": ["d"]}),
        ),
        ("image", "d", json!({"name": "d"})),
        ("services", "[d]", json!([{"name": "d"}])),
        ("interruptible", "true", json!(true)),
        ("retry", "2", json!({"max": 2})),
        ("tags", "[d]", json!(["d"])),
        ("artifacts", "{paths: [d]}", json!({"paths": ["d"]})),
    ]
}

#[test]
fn each_keyword_of_default_is_inherited() {
    // R-GLCI-157
    for (key, given, expect) in keywords() {
        let default = format!("default: {{{key}: {given}}}\njob:\n  script: x\n");
        let taken = json!({key: expect});
        let absent = json!({key: null});
        check(&default, "job", &taken);
        check(&format!("{default}  {key}:\n"), "job", &taken);
        check(
            &format!("{default}  inherit: {{default: true}}"),
            "job",
            &taken,
        );
        check(
            &format!("{default}  inherit: {{default: false}}"),
            "job",
            &absent,
        );
        check(
            &format!("{default}  inherit: {{default: [{key}]}}"),
            "job",
            &taken,
        );
        check(
            &format!("{default}  inherit: {{default: [cache]}}"),
            "job",
            &absent,
        );
    }
}

#[test]
fn deprecated_global_keywords_are_defaults_and_given_once() {
    // R-GLCI-157
    for (key, given, expect) in keywords() {
        if !["image", "services", "before_script", "after_script"].contains(&key) {
            continue;
        }
        let text = format!("{key}: {given}\njob:\n  script: x\n");
        check(&text, "job", &json!({key: expect}));
        check(
            &format!("{text}  inherit: {{default: false}}"),
            "job",
            &json!({key: null}),
        );
        let twice = format!("default: {{{key}: {given}}}\n{text}");
        let message = "is given at the top level and in `default` too";
        check_errors(&twice, &[&format!("{key} config {message} @ {given}")]);
    }
}

#[test]
fn the_timeout_of_default_has_no_effect() {
    check(
        "default: {timeout: 1h}\njob: {script: x}",
        "job",
        &json!({"timeout_seconds": null}),
    );
}

#[test]
fn variables_are_inherited_by_name() {
    // R-GLCI-157
    let text = "variables: {A: root, B: root}\njob: {script: x, variables: {A: job}";
    check(
        &format!("{text}}}"),
        "job",
        &json!({"variables": {"A": "job", "B": "root"}}),
    );
    let inherited = |inherit: &str| format!("{text}, inherit: {{variables: {inherit}}}}}");
    check(
        &inherited("false"),
        "job",
        &json!({"variables": {"A": "job"}}),
    );
    check(
        &inherited("[C]"),
        "job",
        &json!({"variables": {"A": "job"}}),
    );
    check(
        &inherited("[B]"),
        "job",
        &json!({"variables": {"A": "job", "B": "root"}}),
    );
    check_errors(
        &inherited("{A: 1}"),
        &["jobs:job:inherit:variables config should be a bool or an array of strings @ {A: 1}"],
    );
}

#[test]
fn a_trigger_job_inherits_few_keywords() {
    let text = "
default: {interruptible: true, image: i, retry: 1, before_script: [x], tags: [t]}
variables: {A: root}
job: {trigger: a/b}
";
    let expect = json!({
        "interruptible": true, "image": null, "retry": null, "before_script": null, "tags": null,
        "variables": {"A": "root"}
    });
    check(text, "job", &expect);
}
