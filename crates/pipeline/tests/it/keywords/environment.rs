use super::{accept, refuse, refuse_file};
use serde_json::json;

#[test]
fn environments_are_names_or_settings() {
    // R-GLCI-159
    accept(
        "environment: review/$A-${B}. c",
        "environment",
        &json!({"name": "review/$A-${B}. c", "action": "start"}),
    );
    let all = "environment: {name: a, url: 'https://$A', action: prepare, auto_stop_in: $T, \
               deployment_tier: other, kubernetes: {agent: 'a:b', namespace: n, \
               flux_resource_path: f, managed_resources: {enabled: true}, \
               dashboard: {namespace: n, flux_resource_path: f}}}";
    accept(
        all,
        "environment",
        &json!({
            "name": "a", "url": "https://$A", "action": "prepare", "auto_stop_in": "$T",
            "deployment_tier": "other", "kubernetes": {
                "agent": "a:b", "namespace": "n", "flux_resource_path": "f",
                "managed_resources": {"enabled": true},
                "dashboard": {"namespace": "n", "flux_resource_path": "f"}
            }
        }),
    );
}

#[test]
fn invalid_environments_are_refused_at_their_location() {
    // R-GLCI-159
    let check = |keywords: &str, message: &str, about: &str| {
        refuse(
            &format!("environment: {keywords}"),
            &format!("jobs:job:environment{message}"),
            about,
        );
    };
    let letters = " can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.' and \
                   spaces, and cannot start or end with '/'";
    check("1", " config should be a hash or a string", "1");
    check("''", " config can't be blank", "''");
    check("a:b", &format!(" config{letters}"), "a:b");
    check("/a", " config cannot start or end with '/'", "/a");
    check("{name: a*}", &format!(" name{letters}"), "a*");
    check("{name: 1}", " name should be a string, not a number", "1");
    check(
        "{name: a, url: [b]}",
        " url should be a string, not an array",
        "[b]",
    );
    check(
        "{name: a, deployment_tier: prod}",
        " deployment_tier should be one of: production, staging, testing, development, other",
        "prod",
    );
    check(
        "{name: a, kubernetes: b}",
        ":kubernetes config should be a hash",
        "b",
    );
    check(
        "{name: a, kubernetes: {dashboard: {namespace: n}}}",
        ":kubernetes config should have `agent` when it has `dashboard`",
        "{dashboard: {namespace: n}}",
    );
    check(
        "{name: a, kubernetes: {agent: b, dashboard: {flux_resource_path: f}}}",
        ":kubernetes dashboard missing required keys: namespace",
        "{flux_resource_path: f}",
    );
    check(
        "{name: a, kubernetes: {agent: b, managed_resources: {enabled: 1}}}",
        ":kubernetes managed_resources enabled should be a boolean value",
        "1",
    );
}

#[test]
fn the_on_stop_job_must_match_the_environment() {
    // R-GLCI-159
    let check = |stop: &str, words: &str| {
        let text = format!("job: {{script: x, environment: {{name: a, on_stop: stop}}}}\n{stop}");
        refuse_file(
            &text,
            &[(&format!("job job: on_stop job `stop` {words}"), "stop")],
        );
    };
    check("other: {script: x}", "is not defined");
    check("stop: {script: x}", "does not have an environment");
    check(
        "stop: {script: x, environment: a}",
        "needs to have the action `stop`",
    );
    check(
        "stop: {script: x, environment: {name: b, action: stop}}",
        "has a different environment: `b`, not `a`",
    );
    let valid = "job: {script: x, environment: {name: a/$B, on_stop: stop}}\n\
                stop: {script: x, environment: {name: a/$B, action: stop}}";
    refuse_file(valid, &[]);
}
