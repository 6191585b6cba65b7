//! Quotas, queues, and namespaces of single jobs.

use crate::support::{BUSYBOX, Cluster, job, open, open_with, runner_config};
use executor_core::job::{Image, Job, JobId};
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_core::{AcquireError, TraceStream};
use executor_testkit::{CommandBuilder, OptionsBuilder, RecordingTrace};
use k8s_openapi::api::core::v1::{Namespace, Pod, ResourceQuota};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

async fn limit_pods(cluster: &Cluster, pods: u32) {
    let quotas: Api<ResourceQuota> =
        Api::namespaced(cluster.client.clone(), cluster.pods().namespace().unwrap());
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "small" },
        "spec": { "hard": { "pods": pods.to_string() } },
    });
    let quota = serde_json::from_value(quota).unwrap();
    quotas.create(&PostParams::default(), &quota).await.unwrap();
}

async fn wait_for(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_mins(1), waiting).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn quota_refuses_in_its_own_words() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    limit_pods(&cluster, 0).await;
    cluster.config.poll_timeout = Some(0);
    let provider = cluster.provider();
    let trace = Arc::new(RecordingTrace::new());
    let mut executor = provider.create(&ExecutorData::default()).unwrap();
    let options = OptionsBuilder::new()
        .config(runner_config())
        .job(job(BUSYBOX))
        .trace(Arc::clone(&trace) as Arc<dyn JobTrace>)
        .build();
    let prepared = executor.prepare(options, &Cancellation::new()).await;
    let error = prepared.expect_err("it was prepared");
    let text = error.chain();
    assert!(text.contains("exceeded quota: small"), "{text}");
    // It has waited already.
    assert!(!error.is_temporary());
    let warning = trace.text(TraceStream::SYSTEM_WARNING);
    assert!(warning.contains("a longer `poll-timeout`"), "{warning}");
    executor.cleanup().await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_waits_for_room_and_no_other_is_asked_for() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    limit_pods(&cluster, 1).await;
    let provider = cluster.provider();
    let (config, never) = (runner_config(), Cancellation::new());
    let acquire = || provider.acquire(&config, &never);
    let first = open(&provider, job(BUSYBOX)).await;
    let mut first = first.map_err(|it| it.0.chain()).unwrap();
    assert!(acquire().await.is_ok());
    let second = open(&provider, job(BUSYBOX));
    let meanwhile = async {
        wait_for(async || matches!(acquire().await, Err(AcquireError::NoFreeExecutor))).await;
        first.executor.cleanup().await.unwrap();
    };
    let (second, ()) = tokio::join!(second, meanwhile);
    let mut second = second.map_err(|it| it.0.chain()).unwrap();
    let log = second.trace.text(TraceStream::SYSTEM);
    assert_eq!(log.matches("Using pod").count(), 1, "{log}");
    let warning = second.trace.text(TraceStream::SYSTEM_WARNING);
    let words = "used: pods=1, limited: pods=1; waiting for other pods to end";
    assert_eq!(warning.matches(words).count(), 1, "{warning}");
    second.executor.cleanup().await.unwrap();
    // The quota is counted again a little later.
    wait_for(async || acquire().await.is_ok()).await;
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn first_waiter_gets_the_room_and_the_next_one_does_not_wait_for_its_start() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    limit_pods(&cluster, 1).await;
    let provider = cluster.provider();
    let first = open(&provider, job(BUSYBOX)).await;
    let mut first = first.map_err(|it| it.0.chain()).unwrap();
    let (first_waiter, second_waiter) = (never_starting(), job(BUSYBOX));
    let (config, never) = (runner_config(), Cancellation::new());
    let name = format!("runwright-{}-", first_waiter.id);
    let waiting = async {
        let Err((error, _)) = open(&provider, first_waiter).await else {
            panic!("its service does not listen");
        };
        panic!("{}", error.chain());
    };
    let later = async {
        // The first waiter has the turn.
        wait_for(async || provider.acquire(&config, &never).await.is_err()).await;
        let opening = open(&provider, second_waiter);
        let meanwhile = async {
            // As long as a second waiter needs to be refused.
            sleep(Duration::from_secs(1)).await;
            first.executor.cleanup().await.unwrap();
            wait_for(async || {
                let pods = cluster.pods().list(&ListParams::default()).await.unwrap();
                let mut names = pods.items.iter().filter_map(|it| it.metadata.name.as_ref());
                names.any(|it| it.starts_with(&name))
            })
            .await;
            let quotas: Api<ResourceQuota> =
                Api::namespaced(cluster.client.clone(), cluster.pods().namespace().unwrap());
            let more = Patch::Merge(json!({ "spec": { "hard": { "pods": "2" } } }));
            let params = PatchParams::default();
            quotas.patch("small", &params, &more).await.unwrap();
        };
        let (second, ()) = tokio::join!(opening, meanwhile);
        second.map_err(|it| it.0.chain()).unwrap()
    };
    let mut second = tokio::select! {
        () = waiting => unreachable!("it fails"),
        second = timeout(Duration::from_mins(1), later) => second.unwrap(),
    };
    second.executor.cleanup().await.unwrap();
    cluster.end().await;
}

/// Returns a job whose pod is accepted and does not start.
fn never_starting() -> Job {
    let mut job = job(BUSYBOX);
    let variable = JobVariable::public("HEALTHCHECK_TCP_PORT", "8080");
    job.services = vec![Image {
        command: ["sleep", "600"].map(str::to_owned).into(),
        variables: [variable].into_iter().collect(),
        ..Image::named(BUSYBOX)
    }];
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_waits_for_a_queue() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    // As the webhook of Kueue does for pods with this label.
    let gates = json!({ "schedulingGates": [{ "name": "kueue.x-k8s.io/admission" }] });
    let label = ("kueue.x-k8s.io/queue-name", "ci");
    let labels = [(label.0.to_owned(), label.1.to_owned())];
    cluster.config.pod_labels = labels.into();
    cluster.config.pod_spec = vec![
        serde_json::from_value(json!({ "patch": gates.to_string(), "patch_type": "merge" }))
            .unwrap(),
    ];
    let provider = cluster.provider();
    let opening = open(&provider, job(BUSYBOX));
    let pods: Api<Pod> = cluster.pods();
    let admitting = async {
        let all = ListParams::default().labels("kueue.x-k8s.io/queue-name=ci");
        wait_for(async || !pods.list(&all).await.unwrap().items.is_empty()).await;
        let name = pods.list(&all).await.unwrap().items[0]
            .metadata
            .name
            .clone();
        let change = json!({ "spec": { "schedulingGates": null } });
        let change = Patch::Merge(change);
        let params = PatchParams::default();
        pods.patch(&name.unwrap(), &params, &change).await.unwrap();
    };
    let (opened, ()) = tokio::join!(opening, admitting);
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    opened.executor.cleanup().await.unwrap();
    cluster.end().await;
}

/// Returns a job with a number that no other test of this machine has.
fn numbered() -> Job {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut job = job(BUSYBOX);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    job.id = JobId(u64::from(std::process::id()) * 100 + count);
    job
}

async fn is_gone(cluster: &Cluster, namespace: &str) -> bool {
    let all: Api<Namespace> = Api::all(cluster.client.clone());
    let found = all.get_opt(namespace).await.unwrap();
    found.is_none_or(|it| it.metadata.deletion_timestamp.is_some())
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_of_a_killed_runner_is_swept_and_can_be_made_again() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.namespace_per_job = true;
    let provider = |owner| executor_kubernetes::provider(cluster.config.clone()).with_owner(owner);
    let owner = format!("dead-{}", std::process::id());
    let job = numbered();
    let namespace = format!("ci-job-{}", job.id);
    let dead = provider(&owner);
    let opened = open(&dead, job.clone()).await;
    // No cleanup, as after a kill.
    drop(opened.map_err(|it| it.0.chain()).unwrap());
    let living = provider("living");
    let swept = living.sweep(|_, _| false).await.unwrap();
    assert_eq!(swept.deleted, Vec::<String>::new());
    assert!(!is_gone(&cluster, &namespace).await);
    let swept = living.sweep(|it, _| it == owner).await.unwrap();
    assert_eq!((swept.deleted.len(), swept.failures.len()), (1, 0));
    assert!(is_gone(&cluster, &namespace).await);
    // The same job once more, while the namespace is on its way out.
    let again = open(&living, job).await;
    let mut again = again.map_err(|it| it.0.chain()).unwrap();
    again.executor.cleanup().await.unwrap();
    assert!(is_gone(&cluster, &namespace).await);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_of_a_job_that_was_taken_over_stays() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.namespace_per_job = true;
    let job = numbered();
    let namespace = format!("ci-job-{}", job.id);
    let (former, later) = (cluster.provider(), cluster.provider());
    let first = open(&former, job.clone()).await;
    let mut first = first.map_err(|it| it.0.chain()).unwrap();
    let resumable = first.executor.abilities().resumable.unwrap();
    let data = ExecutorData::new().with(resumable.resume_handle().unwrap());
    let second = open_with(&later, job, data).await;
    let mut second = second.map_err(|it| it.0.chain()).unwrap();
    first.executor.cleanup().await.unwrap();
    let command = CommandBuilder::new("echo on").build();
    let ran = second.executor.run(command, &Cancellation::new()).await;
    assert!(ran.is_ok_and(|it| it.status.exit_code().0 == 0));
    second.executor.cleanup().await.unwrap();
    assert!(is_gone(&cluster, &namespace).await);
    cluster.end().await;
}
