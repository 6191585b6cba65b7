use super::{at, check, list, made, none, refuse};
use serde_json::{Value, json};

fn services(all: Value) -> Value {
    json!({ "services": all })
}

#[test]
fn the_image_is_that_of_the_job_or_of_the_settings() {
    check(json!({ "image": "s" }), none(), "build/image", json!("i"));
    check(
        json!({ "image": "s" }),
        json!({ "image": { "name": "" } }),
        "build/image",
        json!("s"),
    );
    refuse(
        none(),
        json!({ "image": { "name": "" } }),
        "the job has no image",
    );
    let job = json!({ "image": { "name": "app:$TAG" }, "variables": list(&[("TAG", "1")]) });
    check(none(), job, "build/image", json!("app:1"));
}

#[test]
fn entry_points_get_the_shell() {
    let job = |entrypoint: Value| json!({ "image": { "name": "i", "entrypoint": entrypoint } });
    check(
        none(),
        job(json!([])),
        "build/args",
        json!(["sh", "-c", "true"]),
    );
    check(
        none(),
        job(json!([""])),
        "build/command",
        json!(["sh", "-c", "true"]),
    );
    check(
        none(),
        job(json!(["run", "$(SECRET)"])),
        "build/command",
        json!(["run", "$$(SECRET)"]),
    );
}

#[test]
fn images_are_on_the_list_of_the_settings() {
    let allowed = |pattern: &str| json!({ "allowed_images": ["own/x", pattern], "image": "mine" });
    let job = |name: &str| json!({ "image": { "name": name } });
    for (pattern, name) in [
        ("ruby:*", "ruby:3.4"),
        ("ruby:*", "ruby"),
        ("ruby", "ruby"),
        ("r.example:5000/*:*", "r.example:5000/app:1"),
        ("r.example/**", "r.example/group/app@sha256:00"),
        ("**/app:?", "app:1"),
        ("**/app:?", "a/b/app:1"),
        ("{a,b}:[0-9]", "b:7"),
        ("[!a]", "b"),
        (r"a\*", "a*"),
        ("none", "mine"),
    ] {
        check(allowed(pattern), job(name), "build/image", json!(name));
    }
    for (pattern, name) in [
        ("ruby:*", "x/ruby:3"),
        ("ruby:*", "ruby:3/../x"),
        ("r.example/*", "r.example/group/app"),
        ("r.example/**", "rXexample/app"),
        ("ruby:1", "ruby:1\nx"),
        ("[!a]", "a"),
    ] {
        let part =
            format!("the image {name} is not allowed: allowed_images has only own/x, {pattern}");
        refuse(allowed(pattern), job(name), &part);
    }
    refuse(
        allowed("[a"),
        job("b"),
        "invalid pattern \"[a\" in allowed_images",
    );
    let settings = json!({ "allowed_services": ["db:*"], "services": [{ "name": "proxy" }] });
    check(
        settings.clone(),
        services(json!([{ "name": "db:1" }])),
        "svc-0/image",
        json!("proxy"),
    );
    refuse(
        settings,
        services(json!([{ "name": "x" }])),
        "allowed_services has only db:*",
    );
}

#[test]
fn pull_policies_are_those_of_job_or_settings_that_are_allowed() {
    let job = |policies: Value| json!({ "image": { "name": "i", "pull_policy": policies } });
    let one = json!({ "pull_policy": "if-not-present" });
    check(
        one.clone(),
        none(),
        "build/imagePullPolicy",
        json!("IfNotPresent"),
    );
    check(none(), none(), "build/imagePullPolicy", Value::Null);
    check(none(), none(), "policies/build", json!(1));
    check(
        json!({ "pull_policy": "" }),
        none(),
        "build/imagePullPolicy",
        Value::Null,
    );
    let several = json!({ "pull_policy": ["always", "if-not-present"] });
    check(several.clone(), none(), "policies", json!({ "build": 2 }));
    check(
        several.clone(),
        job(json!(["if-not-present"])),
        "build/imagePullPolicy",
        json!("IfNotPresent"),
    );
    check(
        several,
        job(json!(["never", "always"])),
        "policies/build",
        json!(1),
    );
    refuse(
        one,
        job(json!(["never", "always"])),
        "the pull policy never, always is not allowed: pull_policy has only if-not-present",
    );
    refuse(
        none(),
        job(json!(["always"])),
        "pull_policy has only nothing",
    );
    let narrow = json!({ "pull_policy": "always", "allowed_pull_policies": ["never"] });
    check(
        narrow.clone(),
        job(json!(["never"])),
        "build/imagePullPolicy",
        json!("Never"),
    );
    refuse(
        narrow,
        none(),
        "the pull policy always is not allowed: allowed_pull_policies has only never",
    );
    refuse(
        none(),
        job(json!(["often"])),
        "invalid pull policy \"often\"",
    );
    refuse(
        json!({ "pull_policy": "often" }),
        none(),
        "invalid pull policy \"often\"",
    );
}

#[test]
fn the_next_pull_policy_is_tried_for_each_container() {
    let settings = json!({ "pull_policy": ["always", "if-not-present"] });
    let made = made(
        &settings,
        &services(json!([{ "name": "s" }])),
        &[("svc-0", 1), ("x", 1)],
    )
    .unwrap();
    assert_eq!(at(&made, "build/imagePullPolicy"), json!("Always"));
    assert_eq!(at(&made, "svc-0/imagePullPolicy"), json!("IfNotPresent"));
}

#[test]
fn logins_of_the_job_are_in_a_secret() {
    let login = json!({ "login": "{\"auths\":{}}" });
    let settings = json!({ "image_pull_secrets": ["mine"] });
    check(
        settings.clone(),
        login.clone(),
        "spec/imagePullSecrets",
        json!([{ "name": "mine" }, { "name": "p" }]),
    );
    check(
        none(),
        login.clone(),
        "secret/type",
        json!("kubernetes.io/dockerconfigjson"),
    );
    check(
        none(),
        login.clone(),
        "secret/stringData",
        json!({ ".dockerconfigjson": "{\"auths\":{}}" }),
    );
    check(settings, none(), "secret", Value::Null);
    let account =
        json!({ "image_pull_secrets": ["mine"], "use_service_account_image_pull_secrets": true });
    check(
        account.clone(),
        login.clone(),
        "spec/imagePullSecrets",
        Value::Null,
    );
    check(account, login, "secret", Value::Null);
}

#[test]
fn services_get_public_variables_as_text_and_others_from_the_secret() {
    let job = json!({
        "variables": [
            { "key": "A", "value": "1", "public": true },
            { "key": "TOKEN", "value": "s3cret", "public": false },
            { "key": "MASKED", "value": "m", "public": true, "masked": true },
            { "key": "FILE", "value": "f", "public": true, "file": true },
            { "key": "LEAK", "value": "<$TOKEN>", "public": true },
        ],
        "services": [{ "name": "db", "variables": [
            { "key": "PASSWORD", "value": "$TOKEN", "public": true },
            { "key": "OWN", "value": "$A $(SECRET)", "public": true },
            { "key": "HIDDEN", "value": "h", "public": false },
            { "key": "CHAIN", "value": "$HIDDEN", "public": true },
            { "key": "RAW", "value": "$TOKEN", "public": true, "raw": true },
        ] }],
    });
    let made = made(&none(), &job, &[]).unwrap();
    let from = |key: &str| json!({ "secretKeyRef": { "name": "p", "key": key } });
    let expected = json!([
        { "name": "A", "value": "1" },
        { "name": "CHAIN", "valueFrom": from("svc-0.3") },
        { "name": "HIDDEN", "valueFrom": from("svc-0.2") },
        { "name": "LEAK", "value": "<>" },
        { "name": "OWN", "value": "1 $$(SECRET)" },
        { "name": "PASSWORD", "valueFrom": from("svc-0.0") },
        { "name": "RAW", "value": "$TOKEN" },
    ]);
    assert_eq!(at(&made, "svc-0/env"), expected);
    let secret = json!({ "svc-0.0": "s3cret", "svc-0.2": "h", "svc-0.3": "h" });
    assert_eq!(made["secret"]["stringData"], secret);
    assert_eq!(made["secret"]["type"], "Opaque");
    assert_eq!(
        made["secret"]["metadata"]["labels"],
        made["pod"]["metadata"]["labels"]
    );
    assert!(!made["pod"].to_string().contains("s3cret"));
}

#[test]
fn services_of_the_settings_come_first() {
    let settings = json!({ "services": [{
        "name": "proxy:$TAG", "alias": "p1 p2", "command": ["c"], "entrypoint": ["e"],
        "environment": ["HEALTHCHECK_TCP_PORT=80", "X=$TAG"],
    }] });
    let job = json!({ "services": [{ "name": "db" }], "variables": list(&[("TAG", "1")]) });
    let svc = |field: &str, expected: Value| check(settings.clone(), job.clone(), field, expected);
    svc("svc-0/image", json!("proxy:1"));
    svc("svc-0/command", json!(["e"]));
    svc("svc-0/args", json!(["c"]));
    svc("svc-0/env/2", json!({ "name": "X", "value": "1" }));
    svc("svc-0/startupProbe/tcpSocket", json!({ "port": 80 }));
    svc("svc-0/restartPolicy", json!("Always"));
    svc(
        "svc-0/terminationMessagePolicy",
        json!("FallbackToLogsOnError"),
    );
    svc("svc-1/image", json!("db"));
    svc(
        "spec/hostAliases/0/hostnames",
        json!(["p1", "p2", "proxy", "db"]),
    );
    let annotations = &made(&settings, &job, &[]).unwrap()["pod"]["metadata"]["annotations"];
    assert_eq!(annotations["runwright.dev/alias.svc-0"], json!("p1"));
    assert_eq!(annotations.get("runwright.dev/alias.svc-1"), None);
}

#[test]
fn services_with_one_port_are_refused_by_name() {
    let port =
        |value: &str| json!([{ "key": "HEALTHCHECK_TCP_PORT", "value": value, "public": true }]);
    let both = json!([{ "name": "a", "variables": port("80") }, { "name": "b", "ports": [{ "number": 80 }] }]);
    refuse(
        none(),
        services(both),
        "the services a and b both have the port 80",
    );
    refuse(
        none(),
        services(json!([{ "name": "a", "variables": port("x") }])),
        "expected a port",
    );
}
