use super::{accept, refuse, refuse_file};
use serde_json::json;

#[test]
fn artifacts_are_read_as_written() {
    // R-GLCI-159
    let all = "artifacts: {name: n, paths: [a], exclude: [b], untracked: false, when: always, \
               expire_in: never, expose_as: a-b c, public: false}";
    accept(
        all,
        "artifacts",
        &json!({
            "name": "n", "paths": ["a"], "exclude": ["b"], "untracked": false, "when": "always",
            "expire_in": "never", "expose_as": "a-b c", "public": false
        }),
    );
    accept(
        "artifacts: {access: maintainer}",
        "artifacts",
        &json!({"access": "maintainer"}),
    );
    accept("artifacts: {}", "artifacts", &json!({}));
    accept("artifacts:", "artifacts", &json!(null));
    accept(
        "artifacts: {reports: {junit: a.xml, sarif: [b, c], terraform: t.json}}",
        "artifacts",
        &json!({"reports": {"junit": ["a.xml"], "sarif": ["b", "c"], "terraform": ["t.json"]}}),
    );
    accept(
        "artifacts: {reports: {coverage_report: {coverage_format: jacoco, path: c}}}",
        "artifacts",
        &json!({"reports": {"coverage_report": {"coverage_format": "jacoco", "path": "c"}}}),
    );
}

#[test]
fn invalid_artifacts_are_refused_at_their_location() {
    // R-GLCI-159
    let check = |keywords: &str, message: &str, about: &str| {
        refuse(
            &format!("artifacts: {keywords}"),
            &format!("jobs:job:artifacts{message}"),
            about,
        );
    };
    check("a", " config should be a hash", "a");
    check("{path: [a]}", " config contains unknown keys: path", "path");
    check("{paths: a}", " paths should be an array of strings", "a");
    check(
        "{paths: [a, [b]]}",
        " paths should be an array of strings",
        "[b]",
    );
    check(
        "{untracked: 1}",
        " untracked should be a boolean value",
        "1",
    );
    check(
        "{expire_in: 5}",
        " expire_in should be a string, not a number",
        "5",
    );
    check(
        "{expire_in: soon}",
        " expire_in should be a duration",
        "soon",
    );
    check("{expire_in: ''}", " expire_in should be a duration", "''");
    let long = "a".repeat(101);
    let label = " expose_as should be at most 100 letters, digits, `_`, `-` or spaces";
    check(&format!("{{paths: [a], expose_as: {long}}}"), label, &long);
    check("{paths: [a], expose_as: -a}", label, "-a");
    check(
        "{paths: ['a/*'], expose_as: a}",
        " config with `expose_as` may have no `*` in its `paths`",
        "{paths: ['a/*'], expose_as: a}",
    );
    check(
        "{paths: [], expose_as: a}",
        " config with `expose_as` needs `paths`",
        "{paths: [], expose_as: a}",
    );
    check("{reports: [a]}", ":reports config should be a hash", "[a]");
    let removed = ":reports config contains unknown keys: cobertura";
    check("{reports: {cobertura: a}}", removed, "cobertura");
    check(
        "{reports: {coverage_report: {coverage_format: cobertura}}}",
        ":reports:coverage_report config missing required keys: path",
        "{coverage_format: cobertura}",
    );
    check(
        "{reports: {coverage_report: a}}",
        ":reports:coverage_report config should be a hash",
        "a",
    );
}

#[test]
fn all_errors_of_artifacts_are_reported_at_once() {
    refuse_file(
        "Job: {script: x, artifacts: {name: 1, pahts: [a], when: never}}",
        &[
            (
                "jobs:job:artifacts config contains unknown keys: pahts",
                "pahts",
            ),
            (
                "jobs:job:artifacts name should be a string, not a number",
                "1",
            ),
            (
                "jobs:job:artifacts when should be one of: on_success, on_failure, always",
                "never",
            ),
        ],
    );
}
