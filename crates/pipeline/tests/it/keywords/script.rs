use super::{accept, accept_file, refuse_file};
use serde_json::json;

#[test]
fn commands_are_flattened() {
    // R-GLCI-159
    accept_file(
        "job: {script: [a, [b, [c]], [], '']}",
        "script",
        &json!(["a", "b", "c", ""]),
    );
    accept(
        "before_script: [[a], b]",
        "before_script",
        &json!(["a", "b"]),
    );
    accept("after_script: []", "after_script", &json!([]));
    accept(
        "hooks: {pre_get_sources_script: [a, [b]]}",
        "hooks",
        &json!({"pre_get_sources_script": ["a", "b"]}),
    );
    accept_file(
        "default: {hooks: {pre_get_sources_script: d}}\njob: {script: x, hooks: {}}",
        "hooks",
        &json!({}),
    );
}

#[test]
fn invalid_commands_are_refused_at_their_location() {
    // R-GLCI-159
    let list = "config should be a string or a nested array of strings up to 10 levels deep";
    let check = |script: &str, message: &str, about: &str| {
        refuse_file(&format!("job:\n  script: {script}"), &[(message, about)]);
    };
    check("{a: b}", &format!("jobs:job:script {list}"), "{a: b}");
    check("[a, [b, 1.5]]", &format!("jobs:job:script {list}"), "1.5");
    let deep = format!("{}x{}", "[".repeat(11), "]".repeat(11));
    check(
        &deep,
        "jobs:job:script config should be nested at most 10 levels deep",
        &deep,
    );
    check("[]", "jobs:job:script config can't be blank", "[]");
    check("''", "jobs:job:script config can't be blank", "''");
    refuse_file(
        "job: {script: x, hooks: {pre_script: a}}",
        &[(
            "jobs:job:hooks config contains unknown keys: pre_script",
            "pre_script",
        )],
    );
    refuse_file(
        "job: {script: x, before_script: [[null]]}",
        &[(&format!("jobs:job:before_script {list}"), "null")],
    );
}
