//! What a job asks for and does not get, and what it gets only because somebody allows it.

use crate::support::runner::{BUSYBOX, Run, job, settings, shown};
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use serde_json::json;

fn exec() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Exec,
        ..settings()
    }
}

/// Checks that a job is refused with this reason, and that nothing is left of it.
async fn refused(settings: DockerConfig, said: serde_json::Value, reason: &str) {
    let run = Run::new(settings);
    let mut job = job(BUSYBOX);
    job.image.docker = Some(said);
    let (error, mut executor, _) = run.try_open(job).await.err().expect("it is refused");
    assert!(error.to_string().contains(reason), "{error}");
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_not_on_the_list_does_not_run() {
    let listed = DockerConfig {
        allowed_users: vec!["app".to_owned()],
        ..exec()
    };
    let reason = "is not allowed: the runner's allowed_users has only app";
    refused(listed.clone(), json!({ "user": "root" }), reason).await;
    // The image's own user is root.
    refused(listed, json!({}), reason).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_followed_stop_a_job_before_anything_is_made() {
    let settings = DockerConfig {
        isolation: Some("hyperv".to_owned()),
        ..exec()
    };
    refused(settings, json!({}), "runners.docker.isolation").await;
    refused(
        exec(),
        json!({ "user": ["a"] }),
        "image:docker:user: is not a text",
    )
    .await;
    let settings = DockerConfig {
        volumes: vec!["/:/host".to_owned()],
        ..exec()
    };
    refused(settings, json!({}), "volume `/` is not allowed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_a_user_and_a_warning_is_in_the_log() {
    let settings = DockerConfig {
        helper_image_flavor: Some("alpine".to_owned()),
        ..exec()
    };
    let run = Run::new(settings);
    let mut job = job(BUSYBOX);
    job.image.docker = Some(json!({ "user": 1000 }));
    let mut opened = run.open(job).await;
    let log = shown(&opened.trace);
    assert!(log.contains("runners.docker.helper_image_flavor"), "{log}");
    assert_eq!(opened.print("id -u").await, "1000\n");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new());
}
