use super::{check, none, refuse, variables};
use serde_json::{Value, json};

fn user(user: Value) -> Value {
    json!({ "image": { "name": "i", "kubernetes": { "user": user } } })
}

#[test]
fn root_is_an_exception_of_the_settings() {
    let root = json!({ "run_as_user": 0 });
    let expected = json!({
        "allowPrivilegeEscalation": false, "capabilities": { "drop": ["NET_RAW"] },
        "runAsNonRoot": false, "runAsUser": 0,
    });
    check(root.clone(), none(), "build/securityContext", expected);
    let pod = json!({ "seccompProfile": { "type": "RuntimeDefault" } });
    check(root.clone(), none(), "spec/securityContext", pod);
    check(root.clone(), none(), "build/env", Value::Null);
    refuse(none(), user(json!("0:0")), "the user root");
    refuse(none(), user(json!(0)), "the user root");
    check(
        root,
        user(json!("0:0")),
        "build/securityContext/runAsGroup",
        json!(0),
    );
    let listed = json!({ "allowed_users": ["0"] });
    check(
        listed,
        user(json!("0")),
        "build/securityContext/runAsNonRoot",
        json!(false),
    );
}

#[test]
fn a_job_chooses_a_user_that_is_allowed() {
    check(
        none(),
        user(json!("1001:2")),
        "build/securityContext/runAsUser",
        json!(1001),
    );
    check(
        none(),
        user(json!("1001:2")),
        "build/securityContext/runAsGroup",
        json!(2),
    );
    let mut job = user(json!("$U"));
    job["variables"] = variables(&[("U", "1002")])["variables"].clone();
    check(none(), job, "build/securityContext/runAsUser", json!(1002));
    refuse(none(), user(json!("root")), "invalid user \"root\"");
    refuse(none(), user(json!("-1")), "invalid user \"-1\"");
    let settings = json!({ "allowed_users": ["7"], "allowed_groups": ["8"] });
    check(
        settings.clone(),
        user(json!("7:8")),
        "build/securityContext/runAsUser",
        json!(7),
    );
    refuse(
        settings.clone(),
        user(json!("9")),
        "allowed_users has only 7",
    );
    refuse(settings, user(json!("7:9")), "allowed_groups has only 8");
}

#[test]
fn security_contexts_of_the_settings_win() {
    let settings = json!({
        "pod_security_context": { "run_as_user": 5, "fs_group": 6, "selinux_type": "t" },
        "build_container_security_context": {
            "run_as_group": 7, "proc_mount": "unmasked", "read_only_root_filesystem": true,
            "capabilities": { "add": ["NET_ADMIN"] },
        },
        "service_container_security_context": { "run_as_user": 0, "privileged": true },
    });
    let pod = json!({
        "fsGroup": 6, "runAsNonRoot": true, "runAsUser": 5, "seLinuxOptions": { "type": "t" },
        "seccompProfile": { "type": "RuntimeDefault" },
    });
    let mut job = user(json!("9:9"));
    job["services"] = json!([{ "name": "s" }]);
    check(settings.clone(), job.clone(), "spec/securityContext", pod);
    let build = json!({
        "allowPrivilegeEscalation": false, "capabilities": { "add": ["NET_ADMIN"], "drop": ["ALL"] },
        "procMount": "Unmasked", "readOnlyRootFilesystem": true, "runAsGroup": 7,
    });
    check(
        settings.clone(),
        job.clone(),
        "build/securityContext",
        build,
    );
    let service = json!({ "privileged": true, "runAsNonRoot": false, "runAsUser": 0 });
    check(
        settings.clone(),
        job.clone(),
        "svc-0/securityContext",
        service,
    );
    let warning = "the user 9 of the image is ignored: the settings of the runner have 5";
    check(settings.clone(), job.clone(), "warnings/0", json!(warning));
    check(
        settings,
        job,
        "build/env",
        json!([{ "name": "HOME", "value": "/builds" }]),
    );
    refuse(
        json!({ "build_container_security_context": { "user": 1 } }),
        none(),
        "unknown field `user`",
    );
}

#[test]
fn privileged_containers_have_the_user_of_their_image() {
    let settings = json!({ "privileged": true });
    check(
        settings.clone(),
        none(),
        "build/securityContext",
        json!({ "privileged": true }),
    );
    check(
        settings,
        none(),
        "spec/securityContext/runAsNonRoot",
        Value::Null,
    );
    let root = json!({ "pod_security_context": { "run_as_non_root": false } });
    check(
        root.clone(),
        none(),
        "spec/securityContext/runAsNonRoot",
        json!(false),
    );
    check(root, none(), "build/securityContext/runAsUser", Value::Null);
}

#[test]
fn dropped_capabilities_win_over_added_ones() {
    let all = json!({ "cap_add": ["SYS_TIME", "KILL"], "cap_drop": ["KILL"] });
    check(
        all,
        none(),
        "build/securityContext/capabilities",
        json!({ "add": ["SYS_TIME"], "drop": ["ALL", "KILL"] }),
    );
    let raw =
        json!({ "cap_add": ["NET_RAW"], "run_as_user": 0, "allow_privilege_escalation": true });
    check(
        raw.clone(),
        none(),
        "build/securityContext/capabilities",
        json!({ "add": ["NET_RAW"] }),
    );
    check(
        raw,
        none(),
        "build/securityContext/allowPrivilegeEscalation",
        json!(true),
    );
}
