//! What ends a running stage, or refuses its pod, each with its reason in the error, on a real cluster.

use crate::faults::run;
use crate::support::{BUSYBOX, Cluster, Opened, is_long, job, node_program, open, open_with};
use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_core::{JobStop, TraceStream};
use executor_testkit::{CommandBuilder, OptionsBuilder, RecordingTrace};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, EvictParams, ListParams, PostParams};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// A program whose memory grows until it is killed.
const GROW: &str = "awk 'BEGIN { x = \"x\"; while (1) x = x x }'";

/// Runs a script, does something when it has begun, and returns how the stage ended.
async fn run_until(
    opened: &mut Opened,
    script: &str,
    end: impl AsyncFnOnce(),
) -> Result<StageResult, String> {
    let command = CommandBuilder::new(format!("echo begun; {script}")).build();
    let (trace, never) = (opened.trace.clone(), Cancellation::new());
    let ending = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        end().await;
    };
    let (ran, ()) = tokio::join!(opened.executor.run(command, &never), ending);
    ran.map_err(|error| {
        assert!(!error.is_temporary());
        error.chain()
    })
}

/// Ends the pod of a running stage, and checks the error.
async fn check_end(cluster: &Cluster, expected: &str, end: impl AsyncFnOnce(&Cluster)) {
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let ran = run_until(&mut opened, "sleep 1000", async || end(cluster).await).await;
    let error = ran.unwrap_err();
    assert!(error.contains(expected), "{error}");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn script_without_memory_says_so() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.memory_limit = Some("100Mi".to_owned());
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    for (script, code, oom_killed) in [
        ("exit 137", 137, false),
        (GROW, 137, true),
        // The kill is already reported.
        ("exit 137", 137, false),
        ("true", 0, false),
    ] {
        let ran = run_until(&mut opened, script, async || {}).await.unwrap();
        let ended = (ran.status.exit_code().0, ran.oom_killed);
        assert_eq!(ended, (code, oom_killed), "{script}");
    }
    opened.executor.cleanup().await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn container_without_memory_says_so() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.memory_limit = Some("100Mi".to_owned());
    check_end(&cluster, "container build: OOMKilled", async |cluster| {
        // The kernel here kills one process, so the end of the container follows by hand.
        cluster.in_pod(&format!("{GROW} || kill -TERM 1")).await;
    })
    .await;
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eviction_is_the_reason() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    check_end(&cluster, "EvictionByEvictionAPI", async |cluster| {
        let name = cluster.pod().await;
        let evicted = cluster.pods().evict(&name, &EvictParams::default()).await;
        evicted.unwrap();
    })
    .await;
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_node_is_the_reason() {
    // The controller waits for 40 s whether the node comes back.
    if !is_long("a node that is deleted") {
        return;
    }
    let Some(cluster) = Cluster::alone().await else {
        return;
    };
    check_end(
        &cluster,
        "DeletionByPodGC: PodGC: node no longer exists",
        async |cluster| {
            let nodes: Api<Node> = Api::all(cluster.client.clone());
            nodes
                .delete("node", &DeleteParams::default())
                .await
                .unwrap();
            cluster.pods_are_gone().await;
            // A kubelet registers its node when it starts.
            run("kill", &["-KILL", &node_program("kubelet").to_string()]);
            let is_ready = |node: Node| {
                let conditions = node.status.and_then(|it| it.conditions).unwrap_or_default();
                conditions
                    .iter()
                    .any(|it| it.type_ == "Ready" && it.status == "True")
            };
            while !nodes.get_opt("node").await.unwrap().is_some_and(is_ready) {
                sleep(Duration::from_millis(100)).await;
            }
        },
    )
    .await;
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn admission_policy_refuses_in_its_own_words() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let message = "pods need a cost center: see https://wiki.example/pods";
    let name = cluster.pods().namespace().unwrap().to_owned();
    let policy = json!({
        "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
            }] },
            "validations": [{ "expression": "false", "message": message }],
        },
    });
    let binding = json!({
        "metadata": { "name": name },
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": { "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": name } } },
        },
    });
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(cluster.client.clone());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(cluster.client.clone());
    let create = PostParams::default();
    let policy = serde_json::from_value(policy).unwrap();
    policies.create(&create, &policy).await.unwrap();
    let binding = serde_json::from_value(binding).unwrap();
    bindings.create(&create, &binding).await.unwrap();
    // The API server learns of its policies a moment later.
    let any = json!({
        "metadata": { "name": "any" },
        "spec": { "containers": [{ "name": "any", "image": BUSYBOX }] },
    });
    let any: Pod = serde_json::from_value(any).unwrap();
    let tried = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    while cluster.pods().create(&tried, &any).await.is_ok() {
        sleep(Duration::from_millis(50)).await;
    }
    let provider = cluster.provider();
    let Err((error, mut executor)) = open(&provider, job(BUSYBOX)).await else {
        panic!("it was prepared");
    };
    let text = error.chain();
    assert!(text.contains(message), "{text}");
    assert!(!error.is_temporary());
    executor.cleanup().await.unwrap();
    let delete = DeleteParams::default();
    bindings.delete(&name, &delete).await.unwrap();
    policies.delete(&name, &delete).await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_that_cannot_start_ends_the_job_at_once() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let provider = cluster.provider();
    let with = |service| {
        let mut job = job(BUSYBOX);
        job.services = vec![service];
        open(&provider, job)
    };
    let missing = Image {
        command: vec!["/does/not/exist".to_owned()],
        ..Image::named(BUSYBOX)
    };
    for (service, who, why) in [
        (missing, "runwright.test/busybox:1", "no such file"),
        (
            Image::named("runwright.test/none:1"),
            "runwright.test/none:1",
            "ErrImagePull",
        ),
    ] {
        let opening = timeout(Duration::from_mins(1), with(service));
        let Err((error, mut executor)) = opening.await.unwrap() else {
            panic!("it was prepared");
        };
        let text = error.chain();
        let who = format!("the service {who}: ");
        assert!(text.contains(&who) && text.contains(why), "{text}");
        executor.cleanup().await.unwrap();
    }
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_that_ends_is_in_the_log() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let mut job = job(BUSYBOX);
    let serve = "until [ -e /tmp/end ]; do sleep 0.1; done; echo ends; exit 3";
    job.services = vec![Image {
        alias: Some("web".to_owned()),
        command: ["sh", "-c", serve].map(str::to_owned).into(),
        ..Image::named(BUSYBOX)
    }];
    let provider = cluster.provider();
    let opened = open(&provider, job).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let trace = opened.trace.clone();
    let script = "until [ -e /builds/enough ]; do sleep 0.1; done";
    let ran = run_until(&mut opened, script, async || {
        cluster.in_container("svc-0", "touch /tmp/end").await;
        let line = "the service web (runwright.test/busybox:1) ended and is started again: exit code 3; its last output was: ends";
        trace.wait_for(TraceStream::SYSTEM_WARNING, line).await;
        cluster.in_pod("touch /builds/enough").await;
    });
    assert_eq!(ran.await.unwrap().status.exit_code().0, 0);
    let warnings = trace.text(TraceStream::SYSTEM_WARNING);
    assert_eq!(
        warnings.matches("is started again").count(),
        1,
        "{warnings}"
    );
    opened.executor.cleanup().await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_that_keeps_ending_is_in_the_log_before_the_job_fails() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.poll_timeout = Some(10);
    let mut job = job(BUSYBOX);
    job.services = vec![Image {
        alias: Some("db".to_owned()),
        command: ["sh", "-c", "echo starts >&2; echo no password >&2; exit 1"]
            .map(str::to_owned)
            .into(),
        variables: vec![JobVariable::public("HEALTHCHECK_TCP_PORT", "80")],
        ..Image::named(BUSYBOX)
    }];
    let trace = Arc::new(RecordingTrace::new());
    let data = ExecutorData::default();
    let mut executor = cluster.provider().create(&data).unwrap();
    let options = OptionsBuilder::new()
        .job(job)
        .trace(Arc::clone(&trace) as Arc<dyn JobTrace>)
        .build();
    let error = executor.prepare(options, &Cancellation::new()).await;
    let error = error.unwrap_err().chain();
    let why = "exit code 1; its last output was: no password";
    let ended = "the service db (runwright.test/busybox:1) ended and is started again";
    let expected = format!("it did not start within 10 s: {ended}: {why}");
    assert!(error.contains(&expected), "{error}");
    let pod = cluster.pods().get(&cluster.pod().await).await.unwrap();
    let services = pod.status.unwrap().init_container_statuses.unwrap();
    let ends = usize::try_from(services[0].restart_count).unwrap() + 1;
    // It is started again at once, then after a pause. Each end is there once.
    let warnings = trace.text(TraceStream::SYSTEM_WARNING);
    let expected = format!("{ended}: {why}");
    let count = warnings.matches(&expected).count();
    assert!((2..=ends).contains(&count), "{warnings}");
    executor.cleanup().await.unwrap();
    cluster.end().await;
}

/// Waits until there is such a pod.
async fn until_pod(cluster: &Cluster, is_it: impl Fn(Pod) -> bool) {
    let (pods, all) = (cluster.pods(), ListParams::default());
    while !pods.list(&all).await.unwrap().items.into_iter().any(&is_it) {
        sleep(Duration::from_millis(100)).await;
    }
}

/// Returns a job with a service that ends only when it is killed, after the grace period of the pod.
fn with_deaf_service() -> Job {
    let mut job = job(BUSYBOX);
    let deaf = "trap '' TERM; while true; do sleep 1; done";
    job.services = vec![Image {
        command: ["sh", "-c", deaf].map(str::to_owned).into(),
        ..Image::named(BUSYBOX)
    }];
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn aborted_job_does_not_wait_for_its_services() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.pod_termination_grace_period_seconds = Some(600);
    let provider = cluster.provider();
    let stop = Cancellation::new();
    let data = ExecutorData::new().with(JobStop(stop.clone()));
    let opened = open_with(&provider, with_deaf_service(), data).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let command = CommandBuilder::new("echo begun; sleep 1000").build();
    let stopping = async {
        opened.trace.wait_for(TraceStream::STDOUT, "begun").await;
        stop.cancel(CancelCause::User);
        stop.abort(CancelCause::User);
    };
    let (ran, ()) = tokio::join!(opened.executor.run(command, &stop), stopping);
    assert!(matches!(ran, Err(BuildError::Canceled(CancelCause::User))));
    let cleanup = timeout(Duration::from_mins(1), opened.executor.cleanup());
    cleanup.await.unwrap().unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_that_is_aborted_before_it_begins_does_not_wait_for_its_services() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.pod_termination_grace_period_seconds = Some(600);
    let mut job = with_deaf_service();
    job.services[0].variables = vec![JobVariable::public("HEALTHCHECK_TCP_PORT", "80")];
    let stop = Cancellation::new();
    let data = ExecutorData::new().with(JobStop(stop.clone()));
    let mut executor = cluster.provider().create(&data).unwrap();
    let options = OptionsBuilder::new().job(job).build();
    let stopping = async {
        until_pod(&cluster, |pod| {
            let services = pod.status.and_then(|it| it.init_container_statuses);
            let mut states = services.into_iter().flatten().filter_map(|it| it.state);
            states.any(|it| it.running.is_some())
        })
        .await;
        stop.cancel(CancelCause::User);
    };
    let (prepared, ()) = tokio::join!(executor.prepare(options, &stop), stopping);
    let error = prepared.unwrap_err();
    assert!(matches!(error, BuildError::Canceled(CancelCause::User)));
    let cleanup = timeout(Duration::from_mins(1), executor.cleanup());
    let aborting = async {
        until_pod(&cluster, |pod| pod.metadata.deletion_timestamp.is_some()).await;
        stop.abort(CancelCause::User);
    };
    let (cleaned, ()) = tokio::join!(cleanup, aborting);
    cleaned.unwrap().unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_of_a_cancelled_job_have_their_grace_period_after_an_aborted_stage() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.pod_termination_grace_period_seconds = Some(3);
    let provider = cluster.provider();
    let job = Cancellation::new();
    let data = ExecutorData::new().with(JobStop(job.clone()));
    let opened = open_with(&provider, with_deaf_service(), data).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    // As with the stages before the user's script.
    let setup = job.child();
    let command = CommandBuilder::new("echo begun; sleep 1000").build();
    let stopping = async {
        opened.trace.wait_for(TraceStream::STDOUT, "begun").await;
        job.cancel(CancelCause::User);
        setup.abort(CancelCause::User);
    };
    let (ran, ()) = tokio::join!(opened.executor.run(command, &setup), stopping);
    assert!(matches!(ran, Err(BuildError::Canceled(CancelCause::User))));
    let began = Instant::now();
    opened.executor.cleanup().await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(2));
    cluster.end().await;
}
