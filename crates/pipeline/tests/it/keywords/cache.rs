use super::{accept, accept_file, refuse};
use serde_json::{Value, json};

/// Returns a cache with GitLab's defaults and `own`.
fn cache(own: &Value) -> Value {
    let mut cache = json!({
        "key": "default", "policy": "pull-push", "when": "on_success", "unprotect": false,
        "fallback_keys": []
    });
    for (key, value) in own.as_object().unwrap() {
        cache[key] = value.clone();
    }
    cache
}

#[test]
fn caches_have_gitlabs_defaults() {
    // R-GLCI-159
    let one = |text: &str, own: &Value| {
        accept(&format!("cache: {text}"), "cache", &json!([cache(own)]));
    };
    one("{}", &json!({}));
    one("{key: a-$B}", &json!({"key": "a-$B"}));
    one("{key: , paths: [a]}", &json!({"paths": ["a"]}));
    one(
        "{key: {files: [a, b], prefix: $P}}",
        &json!({"key": {"files": ["a", "b"], "prefix": "$P"}}),
    );
    one(
        "{key: {files_commits: [a]}}",
        &json!({"key": {"files_commits": ["a"]}}),
    );
    one(
        "{policy: push, when: on_failure}",
        &json!({"policy": "push", "when": "on_failure"}),
    );
    one(
        "{policy: some-push-text}",
        &json!({"policy": "some-push-text"}),
    );
    accept("cache: []", "cache", &json!([]));
    let two = json!([cache(&json!({"key": "a"})), cache(&json!({"key": "b"}))]);
    accept("cache: [{key: a}, [{key: b}]]", "cache", &two);
    accept_file(
        "cache: {key: a}\njob: {script: x, cache: []}",
        "cache",
        &json!([]),
    );
}

#[test]
fn invalid_caches_are_refused_at_their_location() {
    // R-GLCI-159
    let check = |keywords: &str, message: &str, about: &str| {
        refuse(
            &format!("cache: {keywords}"),
            &format!("jobs:job:cache{message}"),
            about,
        );
    };
    check("a", " config should be a hash", "a");
    check("[{}, a]", " config should be a hash", "a");
    check(
        "[{}, {}, {}, {}, {}]",
        "s config may have at most 4 entries",
        "[{}, {}, {}, {}, {}]",
    );
    check("{kye: a}", " config contains unknown keys: kye", "kye");
    check(
        "{key: a/b}",
        ":key config cannot contain the \"/\" character",
        "a/b",
    );
    check(
        "{key: a%2fb}",
        ":key config cannot contain the \"/\" character",
        "a%2fb",
    );
    check("{key: .}", ":key config cannot be \".\" or \"..\"", ".");
    check(
        "{key: [a]}",
        ":key config should be a hash or a string",
        "[a]",
    );
    check(
        "{key: {prefix: a}}",
        ":key config missing required keys: files",
        "{prefix: a}",
    );
    check(
        "{key: {files: [a], files_commits: [b]}}",
        ":key config these keys cannot be used together: files, files_commits",
        "{files: [a], files_commits: [b]}",
    );
    check(
        "{key: {files: [1]}}",
        ":key:files config should be an array of strings",
        "1",
    );
    let prefix = ":key:prefix config should be a string, not a number";
    check("{key: {files: [a], prefix: 1}}", prefix, "1");
    check(
        "{paths: a}",
        ":paths config should be an array of strings",
        "a",
    );
    check(
        "{unprotect: 1}",
        ":unprotect config should be a boolean value",
        "1",
    );
    check(
        "{when: never}",
        " when should be one of: on_success, on_failure, always",
        "never",
    );
    let policy = " policy should be a variable or one of: pull-push, push, pull";
    check("{policy: none}", policy, "none");
    check(
        "{fallback_keys: a}",
        " fallback_keys should be an array of strings",
        "a",
    );
}
