//! Pods that start, do not start, and end, on a real cluster.

use crate::support::{BUSYBOX, Cluster, job, open, runner_config};
use executor_core::TraceStream;
use executor_core::job::Image;
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_kubernetes::{PullPolicy, WarmConfig};
use executor_testkit::CommandBuilder;
use kube::api::{DeleteParams, ListParams};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn services_are_ready_and_have_names() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let mut job = job(BUSYBOX);
    let serve = "sleep 1; echo $OWN '$(HOSTNAME)' > /tmp/index.html; httpd -f -p 8080 -h /tmp";
    job.services = vec![Image {
        alias: Some("web other".to_owned()),
        command: ["sh", "-c", serve].map(str::to_owned).into(),
        variables: [("OWN", "served"), ("HEALTHCHECK_TCP_PORT", "8080")]
            .map(|(key, value)| JobVariable::public(key, value))
            .into(),
        ..Image::named(BUSYBOX)
    }];
    let provider = cluster.provider();
    let mut opened = open(&provider, job)
        .await
        .map_err(|it| it.0.chain())
        .unwrap();
    let script = "for name in web other runwright.test-busybox; do wget -q -O - http://$name:8080; done; id -u";
    let command = CommandBuilder::new(script).build();
    opened
        .executor
        .run(command, &Cancellation::new())
        .await
        .unwrap();
    let expected = "served $(HOSTNAME)\n".repeat(3) + "1000\n";
    assert_eq!(opened.stdout(), expected);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_cannot_start_say_why() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let missing = job("runwright.test/missing:1");
    let invalid = job("Not/An/IMAGE");
    cluster.config.pull_policy = vec![PullPolicy::Never];
    for (job, expected) in [
        (missing, "container build: ErrImageNeverPull"),
        (invalid, "InvalidImageName"),
    ] {
        let provider = cluster.provider();
        let Err((error, mut executor)) = open(&provider, job).await else {
            panic!("it was prepared");
        };
        let text = error.chain();
        assert!(text.contains(expected), "{text}");
        executor.cleanup().await.unwrap();
    }
    cluster.config.poll_timeout = Some(3);
    cluster.config.node_selector = [("disk".to_owned(), "fast".to_owned())].into();
    let provider = cluster.provider();
    let Err((error, mut executor)) = open(&provider, job(BUSYBOX)).await else {
        panic!("it was prepared");
    };
    let text = error.chain();
    let expected = "it did not start within 3 s: Unschedulable: 0/1 nodes are available";
    assert!(text.contains(expected), "{text}");
    executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_that_is_deleted_from_outside_fails_its_job() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let provider = cluster.provider();
    let mut opened = open(&provider, job(BUSYBOX))
        .await
        .map_err(|it| it.0.chain())
        .unwrap();
    let trace = Arc::clone(&opened.trace);
    let command = CommandBuilder::new("echo begun; sleep 300").build();
    let never = Cancellation::new();
    let delete = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        let pods = cluster.pods();
        let own = pods.list(&ListParams::default()).await.unwrap();
        let name = own.items[0].metadata.name.clone().unwrap();
        pods.delete(&name, &DeleteParams::default()).await.unwrap();
    };
    let (ran, ()) = tokio::join!(opened.executor.run(command, &never), delete);
    let error = ran.unwrap_err();
    assert!(
        error.chain().contains("it was deleted"),
        "{}",
        error.chain()
    );
    assert!(!error.is_temporary());
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

/// A login of the node's registry, as a user writes it.
fn login(password: &str) -> JobVariable {
    let login = serde_json::json!({ "username": "user", "password": password });
    let text = serde_json::json!({ "auths": { "localhost:5000": login } }).to_string();
    JobVariable::public("DOCKER_AUTH_CONFIG", text)
}

#[tokio::test(flavor = "multi_thread")]
async fn image_is_pulled_with_the_login_of_the_job() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.pull_policy = vec![PullPolicy::Always];
    let provider = cluster.provider();
    let private = |tag: &str, password: &str| {
        let mut job = job(&format!("localhost:5000/private:{tag}"));
        job.variables.push(login(password));
        job
    };
    let opened = open(&provider, private("1", "p~~~?>?~")).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let secrets: Vec<_> = cluster.left().await;
    assert!(
        secrets.iter().any(|it| it.starts_with("secret ")),
        "{secrets:?}"
    );
    opened.executor.cleanup().await.unwrap();
    for (tag, password, expected) in [
        ("1", "wrong", "401 Unauthorized"),
        ("2", "p~~~?>?~", "not found"),
    ] {
        let Err((error, mut executor)) = open(&provider, private(tag, password)).await else {
            panic!("it was prepared");
        };
        let text = error.chain();
        assert!(text.contains(expected), "{text}");
        executor.cleanup().await.unwrap();
    }
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn next_pull_policy_is_tried() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.pull_policy = vec![PullPolicy::Always, PullPolicy::IfNotPresent];
    let provider = cluster.provider();
    let mut job = job(BUSYBOX);
    job.services = vec![Image {
        command: ["sleep", "1000"].map(str::to_owned).into(),
        ..Image::named(BUSYBOX)
    }];
    let opened = open(&provider, job).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let warnings = opened.trace.text(TraceStream::SYSTEM_WARNING);
    let tries = warnings
        .matches("the next pull policy of the image is tried")
        .count();
    // One for each container.
    assert_eq!(tries, 2, "{warnings}");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_variables_of_services_are_not_in_the_pod() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let provider = cluster.provider();
    let mut job = job(BUSYBOX);
    let serve = "echo $TOKEN > /tmp/index.html; httpd -f -p 8080 -h /tmp";
    job.services = vec![Image {
        alias: Some("web".to_owned()),
        command: ["sh", "-c", serve].map(str::to_owned).into(),
        variables: vec![
            JobVariable::public("HEALTHCHECK_TCP_PORT", "8080"),
            JobVariable::masked("TOKEN", "s3cret-value"),
        ],
        ..Image::named(BUSYBOX)
    }];
    let opened = open(&provider, job).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let pods = cluster.pods().list(&ListParams::default()).await.unwrap();
    let text = serde_json::to_string(&pods.items).unwrap();
    assert!(
        !text.contains("s3cret-value") && text.contains("secretKeyRef"),
        "{text}"
    );
    let command = CommandBuilder::new("wget -q -O - http://web:8080").build();
    let never = Cancellation::new();
    opened.executor.run(command, &never).await.unwrap();
    assert_eq!(opened.stdout(), "s3cret-value\n");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_has_a_namespace_of_its_own() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.namespace_per_job = true;
    let provider = cluster.provider();
    let mut job = job(BUSYBOX);
    job.id = executor_core::job::JobId(u64::from(std::process::id()));
    let name = format!("ci-job-{}", job.id);
    let opened = open(&provider, job).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let log = opened.trace.text(TraceStream::SYSTEM);
    assert!(log.contains(&format!("in namespace {name}")), "{log}");
    opened.executor.cleanup().await.unwrap();
    let all: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(cluster.client.clone());
    let left = all.get_opt(&name).await.unwrap();
    assert!(left.is_none_or(|it| it.metadata.deletion_timestamp.is_some()));
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_pod_becomes_that_of_a_job() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.warm = vec![WarmConfig {
        image: BUSYBOX.to_owned(),
        count: 1,
    }];
    let provider = cluster.provider();
    let runner = runner_config();
    let never = Cancellation::new();
    let data = provider.acquire(&runner, &never).await.unwrap();
    provider.release(&runner, data).await;
    while !provider.has_warm_pods() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let log = opened.trace.text(TraceStream::SYSTEM);
    assert!(log.contains("Using warm pod runwright-warm-"), "{log}");
    opened.executor.cleanup().await.unwrap();
    provider.shutdown(Duration::from_mins(1)).await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}
