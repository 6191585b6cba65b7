use super::{accept, refuse};
use serde_json::json;

#[test]
fn secrets_name_a_path_in_one_store() {
    // R-GLCI-159
    let check = |store: &str, expect: serde_json::Value| {
        accept(
            &format!("secrets: {{S: {store}}}"),
            "secrets",
            &json!({"S": expect}),
        );
    };
    check(
        "{vault: a/b/c@ops, file: false}",
        json!({
            "vault": {"engine": {"name": "kv-v2", "path": "ops"}, "path": "a/b", "field": "c"},
            "file": false
        }),
    );
    check(
        "{vault: {engine: {name: e, path: p}, path: a, field: f}, token: $T}",
        json!({
            "vault": {"engine": {"name": "e", "path": "p"}, "path": "a", "field": "f"},
            "token": "$T"
        }),
    );
    check(
        "{azure_key_vault: {name: n, version: v}}",
        json!({"azure_key_vault": {"name": "n", "version": "v"}}),
    );
    check(
        "{gcp_secret_manager: {name: n, version: 3}, token: $T}",
        json!({"gcp_secret_manager": {"name": "n", "version": "3"}, "token": "$T"}),
    );
    check(
        "{aws_secrets_manager: 'i#f'}",
        json!({"aws_secrets_manager": {"secret_id": "i", "field": "f"}}),
    );
    check(
        "{akeyless: {name: n, akeyless_access_type: aws_iam}}",
        json!({"akeyless": {"name": "n", "akeyless_access_type": "aws_iam"}}),
    );
    check(
        "{gitlab_secrets_manager: {name: N_1, source: s}}",
        json!({"gitlab_secrets_manager": {"name": "N_1", "source": "s"}}),
    );
}

#[test]
fn invalid_secrets_are_refused_at_their_location() {
    // R-GLCI-159
    let check = |secret: &str, message: &str, about: &str| {
        refuse(
            &format!("secrets: {{S: {secret}}}"),
            &format!("jobs:job:secrets:s{message}"),
            about,
        );
    };
    refuse(
        "secrets: [a]",
        "jobs:job:secrets config should be a hash",
        "[a]",
    );
    check("a", " config should be a hash", "a");
    check("{}", " config needs a store", "{}");
    check(
        "{vault: a, file: 'no'}",
        " file should be a boolean value",
        "'no'",
    );
    check(
        "{vault: a, akeyless: {name: n}}",
        " config these keys cannot be used together: vault, akeyless",
        "{vault: a, akeyless: {name: n}}",
    );
    check("{vault: ''}", ":vault config can't be blank", "''");
    check(
        "{vault: {path: a, field: b}}",
        ":vault config missing required keys: engine",
        "{path: a, field: b}",
    );
    check(
        "{vault: {engine: e, path: a, field: b}}",
        ":vault:engine config should be a hash",
        "e",
    );
    check(
        "{gcp_secret_manager: {name: n}}",
        " config missing required keys: token",
        "{gcp_secret_manager: {name: n}}",
    );
    check(
        "{aws_secrets_manager: {region: r}}",
        ":aws_secrets_manager config missing required keys: secret_id",
        "{region: r}",
    );
    check(
        "{akeyless: {nmae: n}}",
        ":akeyless config contains unknown keys: nmae",
        "nmae",
    );
}
