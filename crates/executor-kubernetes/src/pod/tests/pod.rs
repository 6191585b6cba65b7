use super::{check, made, none, refuse, variables};
use crate::config::KubernetesConfig;
use serde_json::{Value, json};

#[test]
fn a_pod_is_restricted_by_default() {
    let made = made(&none(), &none(), &[]).unwrap();
    insta::assert_snapshot!(format!("{made:#}"));
}

#[test]
fn a_pod_has_services_and_the_names_of_the_job() {
    let settings =
        json!({ "run_as_user": 0, "pull_policy": "always", "node_selector": { "a": "b" } });
    let job = json!({
        "login": "{}",
        "job_info": { "name": "test: [a, b]", "project_id": 3, "project_full_path": "group/app" },
        "git_info": { "ref": "feature/x", "sha": "abc" },
        "services": [{ "name": "db:1", "variables": [
            { "key": "HEALTHCHECK_TCP_PORT", "value": "80", "public": true },
            { "key": "PASSWORD", "value": "s3cret" },
        ] }],
    });
    let made = made(&settings, &job, &[]).unwrap();
    insta::assert_snapshot!(format!("{made:#}"));
}

#[test]
fn settings_of_the_pod_are_in_its_specification() {
    let text = json!({
        "scheduler_name": "s", "priority_class_name": "p", "runtime_class_name": "gvisor",
        "dns_policy": "cluster-first-with-host-net", "service_account": "ci",
        "automount_service_account_token": true, "cleanup_grace_period_seconds": 9,
    });
    let spec = |field: &str, expected: Value| {
        check(text.clone(), none(), &format!("spec/{field}"), expected);
    };
    spec("schedulerName", json!("s"));
    spec("priorityClassName", json!("p"));
    spec("runtimeClassName", json!("gvisor"));
    spec("dnsPolicy", json!("ClusterFirstWithHostNet"));
    spec("serviceAccountName", json!("ci"));
    spec("automountServiceAccountToken", json!(true));
    spec("terminationGracePeriodSeconds", json!(9));
    let grace =
        json!({ "pod_termination_grace_period_seconds": 5, "cleanup_grace_period_seconds": 9 });
    check(
        grace,
        none(),
        "spec/terminationGracePeriodSeconds",
        json!(5),
    );
    let timeout = json!({ "runner_info": { "timeout": 60 } });
    check(none(), timeout, "spec/activeDeadlineSeconds", json!(660));
    let empty = json!({ "service_account": "", "scheduler_name": "", "image": "" });
    check(
        empty.clone(),
        none(),
        "spec/serviceAccountName",
        Value::Null,
    );
    check(empty, none(), "spec/schedulerName", Value::Null);
}

#[test]
fn nested_settings_have_the_structure_of_kubernetes() {
    let affinity = json!({ "affinity": { "pod_affinity": {
        "required_during_scheduling_ignored_during_execution": [{
            "topology_key": "zone",
            "label_selector": { "match_labels": { "my_app": "a_b" } },
        }],
    } } });
    let path = "spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0";
    let expected =
        json!({ "topologyKey": "zone", "labelSelector": { "matchLabels": { "my_app": "a_b" } } });
    check(affinity, none(), path, expected);
    let dns = json!({ "dns_config": { "nameservers": ["1.2.3.4"], "options": [{ "name": "ndots", "value": "2" }] } });
    check(
        dns.clone(),
        none(),
        "spec/dnsConfig",
        dns["dns_config"].clone(),
    );
    let hooks = json!({ "container_lifecycle": {
        "post_start": { "exec": { "command": ["touch", "/x"] } },
        "pre_stop": { "http_get": { "port": 80, "http_headers": [{ "name": "n", "value": "v" }] } },
    } });
    let expected = json!({
        "postStart": { "exec": { "command": ["touch", "/x"] } },
        "preStop": { "httpGet": { "port": 80, "httpHeaders": [{ "name": "n", "value": "v" }] } },
    });
    check(hooks, none(), "build/lifecycle", expected);
    let unknown = json!({ "affinity": { "node_affinity": { "preferred": [] } } });
    refuse(unknown, none(), "unknown field `nodeAffinity.preferred`");
}

#[test]
fn keys_of_gitlab_have_an_effect_or_a_reason() {
    for (key, reason) in [
        ("helper_image", "no helper container"),
        ("helper_cpu_limit", "no helper container"),
        ("poll_interval", "watched"),
        ("retry_limits", "repeats requests"),
    ] {
        assert!(
            KubernetesConfig::ignored(key).unwrap().contains(reason),
            "{key}"
        );
    }
    for (key, reason) in [
        ("autoscaler", "spare node"),
        ("suspend_pvc_size", "volumes.pvc"),
        ("terminationGracePeriodSeconds", "pod_termination"),
    ] {
        assert!(
            KubernetesConfig::refused(key).unwrap().contains(reason),
            "{key}"
        );
    }
    for key in ["image", "cpu_limit", "pull_policy"] {
        assert_eq!(KubernetesConfig::ignored(key), None);
        assert_eq!(KubernetesConfig::refused(key), None);
    }
    refuse(json!({ "imagee": "i" }), none(), "unknown field `imagee`");
    let token = |allowed: bool| json!({ "bearer_token_overwrite_allowed": allowed });
    check(token(false), none(), "build/image", json!("i"));
    refuse(token(true), none(), "bearer_token_overwrite_allowed");
}

#[test]
fn a_table_of_gitlab_runner_is_read() {
    let text = r#"
        host = ""
        bearer_token_overwrite_allowed = false
        image = "alpine"
        namespace = "gitlab"
        namespace_overwrite_allowed = ""
        pull_policy = ["always", "if-not-present"]
        privileged = true
        poll_interval = 5
        poll_timeout = 3600
        helper_memory_limit = "250Mi"
        [node_selector]
          gitlab = "true"
        [node_tolerations]
          "custom.toleration=value" = "NoSchedule"
          "onlyKey" = ""
        [pod_security_context]
          run_as_user = 59417
          supplemental_groups = [1, 2]
        [init_permissions_container_security_context]
          [init_permissions_container_security_context.capabilities]
        [build_container_security_context]
          [build_container_security_context.capabilities]
            add = ["NET_ADMIN"]
        [volumes]
          [[volumes.empty_dir]]
            name = "repo"
            mount_path = "/builds"
            medium = "Memory"
        [[services]]
          name = "postgres:12-alpine"
          alias = "db1"
        [[pod_spec]]
          name = "hostname"
          patch = '''
            hostname: "custom"
          '''
          patch_type = "merge"
        [[host_aliases]]
          ip = "192.168.1.1"
          hostnames = ["web14"]
    "#;
    let mut table: toml::Table = text.parse().unwrap();
    table.retain(|key, _| KubernetesConfig::ignored(key).is_none());
    let config: KubernetesConfig = table.try_into().unwrap();
    assert_eq!(config.poll_timeout, Some(3600));
    assert_eq!(config.pull_policy.len(), 2);
    let groups = config.pod_security_context.unwrap().supplemental_groups;
    assert_eq!(groups, Some(vec![1, 2]));
    assert_eq!(config.volumes.empty_dir[0].name, "repo");
}

#[test]
fn volumes_of_all_kinds_are_mounted() {
    let settings = json!({ "volumes": {
        "host_path": [{ "name": "h", "mount_path": "/h/$N", "read_only": true, "mount_propagation": "HostToContainer" }],
        "pvc": [{ "name": "c-$N", "mount_path": "/c/$N", "sub_path": "s" }],
        "config_map": [{ "name": "m", "mount_path": "/m", "items": { "k": "f" } }],
        "secret": [{ "name": "s", "mount_path": "/s" }],
        "empty_dir": [{ "name": "e", "mount_path": "/e", "medium": "Memory", "size_limit": "1Gi" }],
        "csi": [{ "name": "d", "mount_path": "/d", "driver": "x", "volume_attributes": { "a_b": "c" } }],
        "nfs": [{ "name": "n", "mount_path": "/n", "server": "host", "path": "/p" }],
    } });
    let job = variables(&[("N", "1")]);
    let all = made(&settings, &job, &[]).unwrap();
    let volumes = json!([
        { "name": "agent", "emptyDir": {} },
        { "name": "builds", "emptyDir": {} },
        { "name": "cache", "emptyDir": {} },
        { "name": "h", "hostPath": { "path": "/h/$N" } },
        { "name": "c-1", "persistentVolumeClaim": { "claimName": "c-1" } },
        { "name": "m", "configMap": { "name": "m", "items": [{ "key": "k", "path": "f" }] } },
        { "name": "s", "secret": { "secretName": "s" } },
        { "name": "e", "emptyDir": { "medium": "Memory", "sizeLimit": "1Gi" } },
        { "name": "d", "csi": { "driver": "x", "volumeAttributes": { "a_b": "c" } } },
        { "name": "n", "nfs": { "server": "host", "path": "/p" } },
    ]);
    assert_eq!(all["pod"]["spec"]["volumes"], volumes);
    let mounts = &all["pod"]["spec"]["containers"][0]["volumeMounts"];
    assert_eq!(
        mounts[0],
        json!({ "name": "agent", "mountPath": "/runwright" })
    );
    assert_eq!(
        mounts[3],
        json!({ "name": "h", "mountPath": "/h/1", "readOnly": true, "mountPropagation": "HostToContainer" })
    );
    assert_eq!(
        mounts[4],
        json!({ "name": "c-1", "mountPath": "/c/1", "subPath": "s" })
    );
}

#[test]
fn a_volume_takes_the_place_of_ours_and_is_mounted_in_services() {
    let volume = |kind: &str, volume: Value| json!({ "volumes": { kind: [volume] } });
    let builds = volume("pvc", json!({ "name": "work", "mount_path": "/builds" }));
    check(
        builds,
        none(),
        "build/volumeMounts/2",
        json!({ "name": "work", "mountPath": "/builds" }),
    );
    let shared = volume("empty_dir", json!({ "name": "ram", "mount_path": "/ram" }));
    let service = json!({ "services": [{ "name": "s" }] });
    check(
        shared,
        service,
        "svc-0/volumeMounts",
        json!([{ "name": "ram", "mountPath": "/ram" }]),
    );
    let foreign = json!({ "name": "h", "mount_path": "/h", "medium": "Memory" });
    refuse(
        volume("host_path", foreign),
        none(),
        "volume \"h\": a volume of this kind has no medium",
    );
    refuse(
        volume(
            "nfs",
            json!({ "name": "n", "mount_path": "/n", "server": "s" }),
        ),
        none(),
        "expected path",
    );
    refuse(
        volume("pvc", json!({ "name": "cache", "mount_path": "/x" })),
        none(),
        "two volumes have the name cache",
    );
    refuse(
        volume("pvc", json!({ "name": "a_b", "mount_path": "/x" })),
        none(),
        "volume \"a_b\"",
    );
    refuse(
        volume("pvc", json!({ "name": "a", "mount_path": "x" })),
        none(),
        "mount_path",
    );
}

#[test]
fn host_names_of_settings_and_services_share_an_address() {
    let settings = json!({ "host_aliases": [{ "ip": "127.0.0.1", "hostnames": ["a"] }, { "ip": "10.0.0.1", "hostnames": ["b"] }] });
    let job = json!({ "services": [{ "name": "db:1" }] });
    let expected = json!([{ "ip": "127.0.0.1", "hostnames": ["a", "db"] }, { "ip": "10.0.0.1", "hostnames": ["b"] }]);
    check(settings, job, "spec/hostAliases", expected);
}

#[test]
fn labels_are_valid_for_any_job() {
    let label = |ref_name: &str, expected: Value| {
        let job = json!({ "git_info": { "ref": ref_name } });
        check(
            none(),
            job.clone(),
            "pod/metadata/labels/runwright.dev~1ref",
            expected,
        );
        let whole = if ref_name.is_empty() {
            Value::Null
        } else {
            json!(ref_name)
        };
        check(
            none(),
            job,
            "pod/metadata/annotations/runwright.dev~1ref",
            whole,
        );
    };
    label("main", json!("main"));
    label("feature/ä b", json!("feature___b"));
    label("-x-", json!("x"));
    label("///", Value::Null);
    label("", Value::Null);
    label(&"a/".repeat(40), json!("a_".repeat(31) + "a"));
    let settings =
        json!({ "pod_labels": { "team": "$TEAM/x" }, "pod_annotations": { "note": "by $TEAM" } });
    let job = variables(&[("TEAM", "web")]);
    check(
        settings.clone(),
        job.clone(),
        "pod/metadata/labels/team",
        json!("web_x"),
    );
    check(
        settings,
        job,
        "pod/metadata/annotations/note",
        json!("by web"),
    );
    let ours = json!({ "pod_labels": { "runwright.dev/owner": "x" } });
    check(
        ours,
        none(),
        "pod/metadata/labels/runwright.dev~1owner",
        json!("o"),
    );
}
