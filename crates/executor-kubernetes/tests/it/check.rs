//! What a check finds in a real cluster.

#![expect(clippy::disallowed_methods, reason = "kubectl applies what is printed")]

use crate::support::{BUSYBOX, Cluster};
use executor_core::prelude::*;
use executor_kubernetes::{KubernetesConfig, Report, Verdict, check};
use kube::api::ListParams;
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The namespace and the account of the guide's objects.
const GUIDE: [&str; 3] = [
    include_str!("../../../../docs/kubernetes/namespace.yaml"),
    include_str!("../../../../docs/kubernetes/role.yaml"),
    include_str!("../../../../docs/kubernetes/limits.yaml"),
];

/// Runs `kubectl` in the namespace of a test, and returns its output.
fn kubectl(cluster: &Cluster, words: &[&str], input: &str) -> String {
    let config = &cluster.config;
    let mut command = Command::new("kubectl");
    command.arg("--kubeconfig");
    command.arg(config.kubeconfig.as_ref().unwrap());
    command.args(["--namespace", config.namespace.as_ref().unwrap()]);
    command.args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "kubectl {words:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns the settings of the cluster with the login of a service account.
fn as_account(cluster: &Cluster, account: &str) -> KubernetesConfig {
    let access = kubectl(
        cluster,
        &[
            "config",
            "view",
            "--raw",
            "-o",
            "jsonpath={.clusters[0].cluster.certificate-authority}",
        ],
        "",
    );
    KubernetesConfig {
        kubeconfig: None,
        host: Some(format!("https://{}:6443", cluster.address())),
        ca_file: Some(access.into()),
        bearer_token: Some(kubectl(cluster, &["create", "token", account], "").into()),
        image: Some(BUSYBOX.to_owned()),
        ..cluster.config.clone()
    }
}

async fn checked(config: &KubernetesConfig) -> Report {
    check(config, &Cancellation::new(), |_| {}).await
}

/// Checks again until the API server knows a new role.
async fn checked_with_role(config: &KubernetesConfig) -> Report {
    let mut report = checked(config).await;
    for _ in 0..50 {
        if report.role.is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        report = checked(config).await;
    }
    report
}

fn verdict<'r>(report: &'r Report, name: &str) -> &'r Verdict {
    let found = report.checks.iter().find(|it| it.name == name);
    &found.unwrap().verdict
}

#[track_caller]
fn assert_fails(report: &Report, name: &str, part: &str, help: &str) {
    match verdict(report, name) {
        Verdict::Failed {
            found,
            help: Some(text),
        } => {
            assert!(found.contains(part) && text.contains(help), "{report:#?}");
        }
        _ => panic!("{report:#?}"),
    }
}

#[track_caller]
fn assert_all_pass(report: &Report) {
    let mut checks = report.checks.iter();
    assert!(
        checks.all(|it| matches!(it.verdict, Verdict::Passed(_))),
        "{report:#?}"
    );
    assert_eq!(report.role, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_the_guide_permit_what_is_checked() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let namespace = cluster.config.namespace.clone().unwrap();
    for text in GUIDE {
        let text = text.replace(": ci\n", &format!(": {namespace}\n"));
        let text = text.replace(":ci:", &format!(":{namespace}:"));
        kubectl(&cluster, &["apply", "--dry-run=server", "-f", "-"], &text);
        kubectl(&cluster, &["apply", "-f", "-"], &text);
    }
    let report = checked_with_role(&as_account(&cluster, "runwright")).await;
    assert_all_pass(&report);
    let Verdict::Passed(found) = verdict(&report, "login") else {
        unreachable!("it passed");
    };
    let user = format!("user system:serviceaccount:{namespace}:runwright");
    assert!(found.ends_with(&user), "{found}");
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_levels_limits_and_times() {
    let restricted = ("pod-security.kubernetes.io/enforce", "restricted");
    let Some(mut cluster) = Cluster::with_labels(&[restricted]).await else {
        return;
    };
    cluster.config.image = Some(BUSYBOX.to_owned());
    let report = checked(&cluster.config).await;
    assert_all_pass(&report);
    let passed = |name: &str, text: &str| {
        assert_eq!(verdict(&report, name), &Verdict::Passed(text.to_owned()));
    };
    passed("Pod Security", "level restricted");
    passed("limit ranges", "none");
    passed("quotas", "none");
    let Verdict::Passed(times) = verdict(&report, "probe pod") else {
        unreachable!("it passed");
    };
    // The job may begin before the node reports that its container runs.
    for part in [
        "scheduled after ",
        "image already on the node",
        "first command after ",
        "; Linux ",
        ", user 1000",
    ] {
        assert!(times.contains(part), "{times}");
    }
    cluster.config.namespace_per_job = true;
    let report = checked(&cluster.config).await;
    let Verdict::Passed(times) = verdict(&report, "probe pod") else {
        panic!("{report:#?}");
    };
    assert!(times.contains("scheduled after "), "{times}");
    assert!(matches!(verdict(&report, "quotas"), Verdict::Skipped(_)));
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_role_grants_what_is_missing() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let namespace = cluster.config.namespace.clone().unwrap();
    let account = format!("--serviceaccount={namespace}:ci");
    for words in [
        &["create", "serviceaccount", "ci"][..],
        &[
            "create",
            "role",
            "part",
            "--verb=create,get,list,watch,patch,delete",
            "--resource=pods,secrets",
        ],
        &["create", "rolebinding", "part", "--role=part", &account],
    ] {
        kubectl(&cluster, words, "");
    }
    let config = as_account(&cluster, "ci");
    let report = checked(&config).await;
    assert_fails(&report, "permissions", "get pods/exec", "role");
    let ports = verdict(&report, "port proxies");
    assert!(matches!(ports, Verdict::Skipped(reason) if reason.contains("get pods/portforward")));
    assert!(matches!(verdict(&report, "probe pod"), Verdict::Skipped(_)));
    kubectl(&cluster, &["apply", "-f", "-"], &report.role.unwrap());
    assert_all_pass(&checked_with_role(&config).await);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_pods_have_the_words_of_kubernetes() {
    let restricted = ("pod-security.kubernetes.io/enforce", "restricted");
    let Some(mut cluster) = Cluster::with_labels(&[restricted]).await else {
        return;
    };
    cluster.config.image = Some(BUSYBOX.to_owned());
    cluster.config.run_as_user = Some(0);
    let report = checked(&cluster.config).await;
    assert_fails(
        &report,
        "Pod Security",
        "violates PodSecurity \"restricted",
        "another user than root",
    );
    assert!(matches!(
        verdict(&report, "limit ranges"),
        Verdict::Passed(_)
    ));
    assert!(matches!(verdict(&report, "quotas"), Verdict::Skipped(_)));
    cluster.config.run_as_user = None;
    for words in [
        &["create", "quota", "none", "--hard=pods=0"][..],
        &["wait", "--for=jsonpath={.status.hard.pods}=0", "quota/none"],
    ] {
        kubectl(&cluster, words, "");
    }
    let report = checked(&cluster.config).await;
    assert_fails(
        &report,
        "quotas",
        "used: pods=0, limited: pods=0",
        "kubectl describe quota",
    );
    assert!(matches!(verdict(&report, "admission"), Verdict::Passed(_)));
    use_up(&cluster);
    let report = checked(&cluster.config).await;
    let Verdict::Warned { found, .. } = verdict(&report, "quotas") else {
        panic!("{report:#?}");
    };
    assert!(found.contains("used: pods=1, limited: pods=1"), "{found}");
    assert!(matches!(verdict(&report, "probe pod"), Verdict::Skipped(_)));
    assert!(report.is_passed());
    cluster.config.namespace = Some("no-such-namespace".to_owned());
    let report = checked(&cluster.config).await;
    assert_fails(
        &report,
        "namespace",
        "the cluster has no namespace no-such-namespace",
        "kubectl create namespace no-such-namespace",
    );
    let permissions = verdict(&report, "permissions");
    assert!(matches!(permissions, Verdict::Skipped(_)), "{report:#?}");
    assert_eq!(report.checks.len(), 10);
    cluster.end().await;
}

/// Gives the quota room for one pod, and creates that.
fn use_up(cluster: &Cluster) {
    let more = "{\"spec\":{\"hard\":{\"pods\":\"1\"}}}";
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "other" },
        "spec": {
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [{
                "name": "other", "image": BUSYBOX, "imagePullPolicy": "IfNotPresent", "command": ["sleep", "600"],
                "securityContext": {
                    "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] },
                },
            }],
        },
    });
    for (words, input) in [
        (&["patch", "quota", "none", "-p", more][..], ""),
        (
            &["wait", "--for=jsonpath={.status.hard.pods}=1", "quota/none"],
            "",
        ),
        (&["apply", "-f", "-"], &*pod.to_string()),
        (
            &["wait", "--for=jsonpath={.status.used.pods}=1", "quota/none"],
            "",
        ),
    ] {
        kubectl(cluster, words, input);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canceled_check_leaves_no_pod() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.image = Some(BUSYBOX.to_owned());
    cluster.config.node_selector = [("disk".to_owned(), "none".to_owned())].into();
    let stop = Cancellation::new();
    let cancel = async {
        let pods = cluster.pods();
        while pods
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stop.cancel(CancelCause::User);
    };
    let (report, ()) = tokio::join!(check(&cluster.config, &stop, |_| {}), cancel);
    assert!(
        matches!(verdict(&report, "probe pod"), Verdict::Failed { found, .. } if found.contains("canceled"))
    );
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.config.poll_timeout = Some(2);
    let report = checked(&cluster.config).await;
    assert_fails(
        &report,
        "probe pod",
        "Unschedulable: 0/1 nodes",
        "node selector",
    );
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}
