use super::{accept_file, refuse_file};
use serde_json::json;

#[test]
fn steps_run_scripts_or_call_other_steps() {
    // R-GLCI-159
    let steps = "
job:
  run:
    - {name: a, script: echo, env: {A: b}}
    - {name: _b, step: ./dir, inputs: {c: [1, {d: 2}]}}
    - {name: c1, func: {git: {url: u, rev: v, dir: d, file: f}}}
    - {name: d, step: {oci: {registry: r, repository: s, tag: t}}}
";
    accept_file(
        steps,
        "run",
        &json!([
            {"name": "a", "script": "echo", "env": {"A": "b"}},
            {"name": "_b", "step": "./dir", "inputs": {"c": [1, {"d": 2}]}},
            {"name": "c1", "func": {"git": {"url": "u", "rev": "v", "dir": "d", "file": "f"}}},
            {"name": "d", "step": {"oci": {"registry": "r", "repository": "s", "tag": "t"}}}
        ]),
    );
}

#[test]
fn invalid_steps_are_refused_at_their_location() {
    // R-GLCI-159
    let check = |steps: &str, message: &str, about: &str| {
        let text = format!("job: {{run: {steps}}}");
        refuse_file(&text, &[(&format!("jobs:job:run{message}"), about)]);
    };
    let step = |step: &str, message: &str, about: &str| {
        check(
            &format!("[{{name: a, {step}}}]"),
            &format!(":step{message}"),
            about,
        );
    };
    check("a", " config should be an array", "a");
    check("[]", " config can't be blank", "[]");
    check("[a]", ":step config should be a hash", "a");
    check(
        "[{script: a}]",
        ":step config missing required keys: name",
        "{script: a}",
    );
    let name = ":step name should start with a letter or '_', followed by letters, digits and '_'";
    check("[{name: a-b, script: c}]", name, "a-b");
    step("script: ''", " script can't be blank", "''");
    step(
        "script: [a]",
        " script should be a string, not an array",
        "[a]",
    );
    step(
        "script: a, step: b",
        " config these keys cannot be used together: script, step",
        "{name: a, script: a, step: b}",
    );
    step(
        "script: a, inputs: {b: c}",
        " config these keys cannot be used together: script, inputs",
        "{name: a, script: a, inputs: {b: c}}",
    );
    step(
        "script: b, action: c",
        " config contains unknown keys: action",
        "action",
    );
    step("step: {}", " step needs `git` or `oci`", "{}");
    step("step: {svn: a}", " step contains unknown keys: svn", "svn");
    step(
        "step: {oci: {registry: r}}",
        " step:oci config missing required keys: repository, tag",
        "{registry: r}",
    );
    step(
        "script: a, env: {B: 1}",
        " env:b config should be a string, not a number",
        "1",
    );
}
