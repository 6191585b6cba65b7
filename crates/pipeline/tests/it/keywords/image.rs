use super::{accept, refuse};
use pipeline::ResolvedPipeline;
use serde_json::json;

#[test]
fn images_are_names_or_settings() {
    // R-GLCI-159
    accept("image: ruby:3.4", "image", &json!({"name": "ruby:3.4"}));
    accept(
        "image: {name: a, entrypoint: ['', b], pull_policy: [always, if-not-present]}",
        "image",
        &json!({"name": "a", "entrypoint": ["", "b"], "pull_policy": ["always", "if-not-present"]}),
    );
    accept(
        "image: {name: a, docker: {platform: p, user: u}, kubernetes: {user: 1001}}",
        "image",
        &json!({
            "name": "a", "docker": {"platform": "p", "user": "u"}, "kubernetes": {"user": 1001}
        }),
    );
    accept("image:", "image", &json!(null));
}

#[test]
fn a_command_in_place_of_a_list_is_shown_in_words() {
    for (entrypoint, list) in [
        ("sh -c", "write `[sh, -c]`"),
        ("sh -c 'a b'", "as in `[sh, -c]`"),
    ] {
        let text = format!("j: {{script: x, image: {{name: a, entrypoint: \"{entrypoint}\"}}}}\n");
        let found = ResolvedPipeline::from_text("ci.yml", &text).diagnostics;
        let help = found.iter().find_map(|found| found.help.clone());
        assert!(help.is_some_and(|help| help.ends_with(list)), "{found}");
    }
}

#[test]
fn invalid_images_are_refused_at_their_location() {
    // R-GLCI-159
    let check = |keywords: &str, message: &str, about: &str| {
        refuse(
            &format!("image: {keywords}"),
            &format!("jobs:job:image{message}"),
            about,
        );
    };
    check("1", " config should be a hash or a string", "1");
    check("{name: ''}", " name can't be blank", "''");
    check(
        "{name: a, ports: [80]}",
        " config contains unknown keys: ports",
        "ports",
    );
    check(
        "{name: a, entrypoint: b}",
        " entrypoint should be an array of strings",
        "b",
    );
    check(
        "{name: a, pull_policy: sometimes}",
        ":pull_policy config should be one of: always, never, if-not-present",
        "sometimes",
    );
    check("{name: a, docker: b}", " docker should be a hash", "b");
    check(
        "{name: a, docker: {usr: b}}",
        " docker contains unknown keys: usr",
        "usr",
    );
    let long = "a".repeat(65);
    check(
        &format!("{{name: a, docker: {{platform: {long}}}}}"),
        " docker platform should have between 1 and 64 characters",
        &long,
    );
    check(
        "{name: a, docker: {user: ''}}",
        " docker user should have between 1 and 255 characters",
        "''",
    );
    check(
        "{name: a, kubernetes: {user: [1]}}",
        " kubernetes user should be a string, not an array",
        "[1]",
    );
}

#[test]
fn services_are_images_with_more_keys() {
    // R-GLCI-159
    accept(
        "services: [pg, [{name: a, alias: 'b,c', command: [d, [e]], variables: {A: 1}}]]",
        "services",
        &json!([
            {"name": "pg"},
            {"name": "a", "alias": "b,c", "command": ["d", "e"], "variables": {"A": "1"}}
        ]),
    );
    accept("services: []", "services", &json!([]));
    let check = |keywords: &str, message: &str, about: &str| {
        refuse(
            &format!("services: {keywords}"),
            &format!("jobs:job:services{message}"),
            about,
        );
    };
    check("{name: a}", " config should be an array", "{name: a}");
    check("['']", ":service config can't be blank", "''");
    check(
        "[{name: a, alais: b}]",
        ":service config contains unknown keys: alais",
        "alais",
    );
    check(
        "[{name: a, pull_policy: []}]",
        ":service:pull_policy config can't be blank",
        "[]",
    );
    check(
        "[{name: a, variables: b}]",
        ":service:variables config should be a hash",
        "b",
    );
}
