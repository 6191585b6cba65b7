use super::{accept, accept_file, refuse};
use serde_json::json;

#[test]
fn tokens_have_an_audience() {
    // R-GLCI-159
    accept(
        "id_tokens: {A: {aud: $B}, C: {aud: [d, e]}}",
        "id_tokens",
        &json!({"A": {"aud": "$B"}, "C": {"aud": ["d", "e"]}}),
    );
    accept_file(
        "default: {id_tokens: {A: {aud: a}}}\njob: {script: x}",
        "id_tokens",
        &json!({"A": {"aud": "a"}}),
    );
    refuse(
        "id_tokens: a",
        "jobs:job:id_tokens config should be a hash",
        "a",
    );
    refuse(
        "id_tokens: {A: b}",
        "jobs:job:id_tokens:a config should be a hash",
        "b",
    );
    refuse(
        "id_tokens: {A: {}}",
        "jobs:job:id_tokens:a config missing required keys: aud",
        "{}",
    );
    let aud = "jobs:job:id_tokens:a aud should be an array of strings or a string";
    refuse("id_tokens: {A: {aud: 1}}", aud, "1");
    refuse("id_tokens: {A: {aud: [b, 1]}}", aud, "1");
}
