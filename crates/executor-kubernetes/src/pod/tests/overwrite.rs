use super::{check, list, none, refuse, variables};
use crate::config::KubernetesConfig;
use crate::pod::overwrite::namespace_of;
use executor_core::job::JobId;
use executor_core::variable::{JobVariable, JobVariables};
use serde_json::{Value, json};

#[test]
fn resources_are_those_of_the_settings() {
    let settings = json!({
        "cpu_request": "500m", "memory_limit": "1Gi", "ephemeral_storage_limit": "5Gi", "cpu_limit": "",
        "service_cpu_limit": "1", "pod_memory_request": "2Gi",
    });
    let build = json!({ "requests": { "cpu": "500m" }, "limits": { "memory": "1Gi", "ephemeral-storage": "5Gi" } });
    check(settings.clone(), none(), "build/resources", build);
    check(
        settings.clone(),
        none(),
        "spec/resources",
        json!({ "requests": { "memory": "2Gi" } }),
    );
    let job = json!({ "services": [{ "name": "s" }] });
    check(
        settings,
        job,
        "svc-0/resources",
        json!({ "limits": { "cpu": "1" } }),
    );
    check(none(), none(), "build/resources", Value::Null);
    refuse(
        json!({ "cpu_limit": "2 cores" }),
        none(),
        "invalid cpu_limit \"2 cores\"",
    );
}

#[test]
fn a_job_sizes_its_containers_up_to_the_most() {
    let settings = json!({
        "cpu_limit": "1", "cpu_limit_overwrite_max_allowed": "4",
        "service_memory_request_overwrite_max_allowed": "1Gi",
        "pod_cpu_request_overwrite_max_allowed": "8",
    });
    let job = |value: &str| variables(&[("KUBERNETES_CPU_LIMIT", value)]);
    check(
        settings.clone(),
        job("4000m"),
        "build/resources/limits/cpu",
        json!("4000m"),
    );
    check(
        settings.clone(),
        job(""),
        "build/resources/limits/cpu",
        json!("1"),
    );
    refuse(
        settings.clone(),
        job("4.1"),
        "KUBERNETES_CPU_LIMIT: 4.1 is more than cpu_limit_overwrite_max_allowed allows: 4",
    );
    refuse(
        settings.clone(),
        job("-1"),
        "invalid KUBERNETES_CPU_LIMIT \"-1\"",
    );
    let pod = variables(&[("KUBERNETES_POD_CPU_REQUEST", "$HALF"), ("HALF", "500m")]);
    check(
        settings.clone(),
        pod,
        "spec/resources/requests/cpu",
        json!("500m"),
    );
    let closed = variables(&[("KUBERNETES_MEMORY_LIMIT", "9Gi")]);
    check(
        settings.clone(),
        closed.clone(),
        "build/resources/limits/memory",
        Value::Null,
    );
    let warning = "KUBERNETES_MEMORY_LIMIT is ignored: the settings of the runner have no memory_limit_overwrite_max_allowed";
    check(settings, closed, "warnings", json!([warning]));
}

#[test]
fn variables_of_a_service_size_that_service() {
    let settings = json!({ "service_cpu_limit_overwrite_max_allowed": "4" });
    let own = |name: &str, value: &str| json!({ "name": "s", "variables": list(&[(name, value)]) });
    let job = json!({
        "variables": list(&[("KUBERNETES_SERVICE_CPU_LIMIT", "1")]),
        "services": [own("KUBERNETES_SERVICE_CPU_LIMIT", "2"), own("KUBERNETES_CPU_LIMIT", "3"), { "name": "x" }],
    });
    for (at, cpu) in ["2", "3", "1"].iter().enumerate() {
        check(
            settings.clone(),
            job.clone(),
            &format!("svc-{at}/resources/limits/cpu"),
            json!(cpu),
        );
    }
    check(settings.clone(), job, "build/resources", Value::Null);
    let above = json!({ "services": [own("KUBERNETES_SERVICE_CPU_LIMIT", "5")] });
    refuse(
        settings,
        above,
        "is more than service_cpu_limit_overwrite_max_allowed allows",
    );
}

#[test]
fn a_pattern_matches_the_whole_value() {
    let account = |pattern: &str| json!({ "service_account": "own", "service_account_overwrite_allowed": pattern });
    let job = |value: &str| variables(&[("KUBERNETES_SERVICE_ACCOUNT_OVERWRITE", value)]);
    let path = "spec/serviceAccountName";
    check(account("ci-.*"), job("ci-x"), path, json!("ci-x"));
    check(account("ci-.*"), job(""), path, json!("own"));
    check(account("a|b"), job("b"), path, json!("b"));
    check(account(""), job("ci-x"), path, json!("own"));
    check(
        account(""),
        job("ci-x"),
        "warnings/0",
        json!(
            "KUBERNETES_SERVICE_ACCOUNT_OVERWRITE is ignored: the settings of the runner have no service_account_overwrite_allowed"
        ),
    );
    for (pattern, value) in [
        ("ci-.", "xci-y"),
        ("ci-.", "ci-yz"),
        ("a|b", "ab"),
        ("ci-.", "ci-y\n"),
    ] {
        refuse(
            account(pattern),
            job(value),
            "service_account_overwrite_allowed is",
        );
    }
    refuse(
        account(".*"),
        job("$(SECRET)"),
        "invalid KUBERNETES_SERVICE_ACCOUNT_OVERWRITE \"$(SECRET)\"",
    );
    refuse(
        account("("),
        job("x"),
        "invalid service_account_overwrite_allowed",
    );
}

#[test]
fn node_selectors_and_tolerations_are_overwritten_by_key() {
    let settings = json!({
        "node_selector": { "arch": "amd64", "zone": "a" }, "node_selector_overwrite_allowed": "arch=.*",
        "node_tolerations": { "role": "NoSchedule", "gone=": "PreferNoSchedule" },
        "node_tolerations_overwrite_allowed": ".*",
    });
    let job = |name: &str, value: &str| variables(&[(name, value)]);
    let selector = "KUBERNETES_NODE_SELECTOR_ARCH";
    check(
        settings.clone(),
        job(selector, "arch=arm64"),
        "spec/nodeSelector",
        json!({ "arch": "arm64", "zone": "a" }),
    );
    refuse(
        settings.clone(),
        job(selector, "zone=b"),
        "node_selector_overwrite_allowed is \"arch=.*\"",
    );
    refuse(
        settings.clone(),
        job(selector, "arch=a,b=c"),
        "invalid value \"a,b=c\"",
    );
    let own = json!([
        { "key": "gone", "operator": "Equal", "value": "", "effect": "PreferNoSchedule" },
        { "key": "role", "operator": "Exists", "effect": "NoSchedule" },
    ]);
    check(settings.clone(), none(), "spec/tolerations", own);
    let first = |value: &str, expected: Value| {
        let settings = json!({ "node_tolerations_overwrite_allowed": ".*" });
        check(
            settings,
            job("KUBERNETES_NODE_TOLERATIONS_1", value),
            "spec/tolerations/0",
            expected,
        );
    };
    first(
        "k/r:NoSchedule",
        json!({ "key": "k/r", "operator": "Exists", "effect": "NoSchedule" }),
    );
    first(
        "k=v:NoExecute",
        json!({ "key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute" }),
    );
    first("k", json!({ "key": "k", "operator": "Exists" }));
    first("", json!({ "operator": "Exists" }));
}

#[test]
fn labels_and_annotations_of_the_runner_stay() {
    let settings = json!({
        "pod_labels": { "team": "a" }, "pod_labels_overwrite_allowed": ".*",
        "pod_annotations_overwrite_allowed": ".*",
    });
    let label = |value: &str| variables(&[("KUBERNETES_POD_LABELS_1", value)]);
    check(
        settings.clone(),
        label("team=b"),
        "pod/metadata/labels/team",
        json!("b"),
    );
    refuse(
        settings.clone(),
        label("a=b,c"),
        "invalid value \"b,c\" of the label a",
    );
    refuse(settings.clone(), label("a b=c"), "invalid key \"a b\"");
    refuse(settings.clone(), label("a"), "expected key=value");
    refuse(
        settings.clone(),
        label("a=$(SECRET)"),
        "invalid value \"$(SECRET)\"",
    );
    for key in [
        "runwright.dev/owner",
        "job.runner.gitlab.com/pod",
        "runner.gitlab.com/x",
    ] {
        let path = format!("pod/metadata/labels/{}", key.replace('/', "~1"));
        let ours = if key == "runwright.dev/owner" {
            json!("o")
        } else {
            Value::Null
        };
        check(settings.clone(), label(&format!("{key}=x")), &path, ours);
        check(
            settings.clone(),
            label(&format!("{key}=x")),
            "warnings/0",
            json!(format!("{key} is ignored: it belongs to the runner")),
        );
    }
    check(
        settings.clone(),
        label("notrunner.gitlab.com/x=y"),
        "pod/metadata/labels/notrunner.gitlab.com~1x",
        json!("y"),
    );
    let note = |value: &str| variables(&[("KUBERNETES_POD_ANNOTATIONS_1", value)]);
    check(
        settings.clone(),
        note("note=a,b=$(SECRET)"),
        "pod/metadata/annotations/note",
        json!("a,b=$(SECRET)"),
    );
    check(
        settings,
        note("runwright.dev/job-name=x"),
        "pod/metadata/annotations/runwright.dev~1job-name",
        Value::Null,
    );
    check(none(), label("a=b"), "pod/metadata/labels/a", Value::Null);
}

#[test]
fn namespaces_are_those_that_the_settings_allow() {
    let of = |settings: Value, name: &str, value: &str| {
        let config: KubernetesConfig = serde_json::from_value(settings).unwrap();
        let variables: JobVariables = [JobVariable::public(name, value)].into_iter().collect();
        namespace_of(&config, JobId(12), &variables).map_err(|error| error.to_string())
    };
    let wanted = "KUBERNETES_NAMESPACE_OVERWRITE";
    let allowed =
        |pattern: &str| json!({ "namespace": "own", "namespace_overwrite_allowed": pattern });
    assert_eq!(
        of(allowed("ci-.*"), wanted, "ci-x"),
        Ok(Some("ci-x".to_owned()))
    );
    assert_eq!(of(allowed("ci-.*"), wanted, ""), Ok(None));
    assert_eq!(of(allowed(""), wanted, "kube-system"), Ok(None));
    assert!(
        of(allowed("ci-.*"), wanted, "kube-system")
            .unwrap_err()
            .contains("is not allowed")
    );
    assert!(
        of(allowed(".*"), wanted, "ci/pods")
            .unwrap_err()
            .contains("invalid")
    );
    let each = json!({ "namespace_per_job": true });
    let own = of(each, "CI_JOB_ID", "1");
    assert_eq!(own, Ok(Some("ci-job-12".to_owned())));
    let warning = "KUBERNETES_NAMESPACE_OVERWRITE is ignored: the settings of the runner have no namespace_overwrite_allowed";
    check(
        none(),
        variables(&[(wanted, "x")]),
        "warnings/0",
        json!(warning),
    );
}
