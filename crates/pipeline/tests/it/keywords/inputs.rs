use super::{accept, refuse};
use serde_json::json;

#[test]
fn inputs_of_a_job_have_a_valid_default() {
    // R-GLCI-159
    accept(
        "inputs: {a: {default: v, description: d, options: [v, w]}, b: {type: boolean, default: false}}",
        "inputs",
        &json!({
            "a": {"type": "string", "default": "v", "description": "d", "options": ["v", "w"]},
            "b": {"type": "boolean", "default": false}
        }),
    );
    let many: Vec<String> = (0..51).map(|n| format!("i{n}: {{default: 1}}")).collect();
    let many = format!("{{{}}}", many.join(", "));
    refuse(
        &format!("inputs: {many}"),
        "jobs:job:inputs config has too many entries (maximum is 50)",
        &many,
    );
    refuse(
        "inputs: [a]",
        "jobs:job:inputs config should be a hash",
        "[a]",
    );
    refuse(
        "inputs: {a: }",
        "jobs:job:inputs:a config must have a default value",
        "a",
    );
    refuse(
        "inputs: {a: {default: 1, rules: []}}",
        "jobs:job:inputs:a config contains unknown keys: rules",
        "rules",
    );
    refuse(
        "inputs: {a: {default: b, type: number}}",
        "jobs:job `a` input: default value is not a number",
        "b",
    );
}
