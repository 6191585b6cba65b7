use super::{check, none, refuse};
use crate::config::KubernetesConfig;
use serde_json::{Value, json};

fn patch(kind: &str, patch: &str) -> Value {
    json!({ "pod_spec": [{ "name": "n", "patch": patch, "patch_type": kind }] })
}

#[test]
fn patches_change_the_specification_last_and_in_order() {
    let grace = r#"[{ "op": "replace", "path": "/terminationGracePeriodSeconds", "value": 60 }]"#;
    check(
        patch("json", grace),
        none(),
        "spec/terminationGracePeriodSeconds",
        json!(60),
    );
    let flow = r#"[{ "op": "add", "path": "/nodeSelector", "value": { key1: "val1" } }]"#;
    check(
        patch("json", flow),
        none(),
        "spec/nodeSelector",
        json!({ "key1": "val1" }),
    );
    check(
        patch("merge", "hostname: h\nactiveDeadlineSeconds: ~"),
        none(),
        "spec/hostname",
        json!("h"),
    );
    check(
        patch("merge", "hostname: h\nactiveDeadlineSeconds: ~"),
        none(),
        "spec/activeDeadlineSeconds",
        Value::Null,
    );
    let two = json!({ "pod_spec": [
        { "name": "a", "patch": "hostname: a\nsubdomain: a", "patch_type": "merge" },
        { "name": "b", "patch": "hostname: b" },
    ] });
    check(two.clone(), none(), "spec/hostname", json!("b"));
    check(two, none(), "spec/subdomain", json!("a"));
}

#[test]
fn a_merge_patch_replaces_lists() {
    let build = "containers: [{ name: build, image: x }]";
    let expected = json!([{ "name": "build", "image": "x" }]);
    check(patch("merge", build), none(), "spec/containers", expected);
}

#[test]
fn a_strategic_patch_merges_lists_by_name() {
    let strategic = |text: &str, pointer: &str, expected: Value| {
        let job = json!({ "services": [{ "name": "s" }] });
        check(patch("strategic", text), job, pointer, expected);
    };
    let cpu = "containers:\n- name: build\n  resources:\n    requests:\n      cpu: 2";
    strategic(cpu, "build/resources/requests/cpu", json!("2"));
    strategic(cpu, "build/image", json!("i"));
    let env =
        "containers: [{ name: build, env: [{ name: HOME, value: /h }, { name: B, value: b }] }]";
    strategic(
        env,
        "build/env",
        json!([{ "name": "HOME", "value": "/h" }, { "name": "B", "value": "b" }]),
    );
    let added = "initContainers: [{ name: svc-0, tty: true }, { name: other, image: o }]";
    strategic(added, "svc-0/tty", json!(true));
    strategic(added, "svc-1", json!({ "name": "other", "image": "o" }));
    let gone = "initContainers: [{ name: svc-0, $patch: delete }]";
    strategic(gone, "spec/initContainers", json!([]));
    let all = "containers: [{ name: build, env: [{ $patch: replace }, { name: B, value: b }] }]";
    strategic(all, "build/env", json!([{ "name": "B", "value": "b" }]));
    let context = "securityContext: { $patch: replace, fsGroup: 5 }";
    strategic(context, "spec/securityContext", json!({ "fsGroup": 5 }));
    strategic(
        "securityContext: { $patch: delete }",
        "spec/securityContext",
        Value::Null,
    );
    strategic(
        "activeDeadlineSeconds: ~",
        "spec/activeDeadlineSeconds",
        Value::Null,
    );
    let tolerations = "tolerations: [{ operator: Exists }]";
    strategic(
        tolerations,
        "spec/tolerations",
        json!([{ "operator": "Exists" }]),
    );
    let volume = "volumes: [{ name: builds, ephemeral: { volumeClaimTemplate: { spec: { accessModes: [ReadWriteOnce] } } } }]";
    let expected = json!({ "name": "builds", "ephemeral": { "volumeClaimTemplate": { "spec": { "accessModes": ["ReadWriteOnce"] } } } });
    strategic(volume, "spec/volumes/1", expected);
    let mount = "containers: [{ name: build, volumeMounts: [{ mountPath: /builds, subPath: s, name: builds }] }]";
    strategic(
        mount,
        "build/volumeMounts/1",
        json!({ "name": "builds", "mountPath": "/builds", "subPath": "s" }),
    );
    let alias = "hostAliases: [{ ip: 127.0.0.1, hostnames: [x] }]";
    strategic(
        alias,
        "spec/hostAliases",
        json!([{ "ip": "127.0.0.1", "hostnames": ["x"] }]),
    );
}

#[test]
fn patches_that_do_not_apply_are_refused_by_name() {
    refuse(
        patch("json", r#"[{ "op": "remove", "path": "/none" }]"#),
        none(),
        "pod_spec \"n\": ",
    );
    refuse(patch("json", "hostname: h"), none(), "pod_spec \"n\": ");
    refuse(
        patch("merge", "hostName: h"),
        none(),
        "unknown field `hostName`",
    );
    refuse(patch("merge", "hostname: [h]"), none(), "pod_spec \"n\": ");
    refuse(
        patch("strategic", "containers: [{ image: x }]"),
        none(),
        "an entry of containers has no name",
    );
    refuse(patch("strategic", "[1]"), none(), "expected a part");
    refuse(patch("strategic", "a: b: c"), none(), "pod_spec \"n\": ");
    let other = "containers: [{ name: helper, tty: true }]";
    refuse(
        patch("strategic", other),
        none(),
        "container \"helper\" has no image",
    );
    let gone = "containers: [{ name: build, $patch: delete }]";
    refuse(
        patch("strategic", gone),
        none(),
        "the container build is gone",
    );
    refuse(patch("yaml", "a: b"), none(), "unknown variant `yaml`");
}

#[test]
fn patches_are_read_from_files() {
    let read = |patch: Value| {
        let mut config: KubernetesConfig =
            serde_json::from_value(json!({ "pod_spec": [patch] })).unwrap();
        let read = config.read_patches().map_err(|error| error.to_string());
        read.map(|()| config.pod_spec[0].patch.clone().unwrap_or_default())
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert!(
        read(json!({ "patch_path": path }))
            .unwrap()
            .contains("[package]")
    );
    assert_eq!(read(json!({ "patch": "a: b" })), Ok("a: b".to_owned()));
    let failed = |patch: Value, part: &str| {
        let error = read(patch).unwrap_err();
        assert!(
            error.starts_with("pod_spec \"n\": ") && error.contains(part),
            "{error}"
        );
    };
    failed(json!({ "name": "n" }), "expected patch or patch_path");
    failed(
        json!({ "name": "n", "patch": "a", "patch_path": path }),
        "found both",
    );
    failed(json!({ "name": "n", "patch_path": "/none" }), "read /none");
}
