//! Options of jobs that are refused, and those that settings allow.

use crate::support::runner::{BUSYBOX, Run, job, log_text, settings};
use executor_core::JobVariable;
use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::image::PullPolicy;
use serde_json::json;

fn exec() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Exec,
        ..settings()
    }
}

/// Checks that a job is refused with this reason and leaves nothing.
async fn refused(settings: DockerConfig, options: serde_json::Value, reason: &str) {
    let mut job = job(BUSYBOX);
    job.image.docker = Some(options);
    job_is_refused(settings, job, reason).await;
}

async fn job_is_refused(settings: DockerConfig, job: Job, reason: &str) {
    let run = Run::new(settings);
    let (error, mut executor, _) = run.try_open(job).await.err().expect("it is refused");
    assert!(error.to_string().contains(reason), "{error}");
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_outside_the_list_is_refused() {
    let listed = DockerConfig {
        allowed_users: vec!["app".to_owned()],
        ..exec()
    };
    let reason = "is not allowed: the runner's allowed_users has only app";
    refused(listed.clone(), json!({ "user": "root" }), reason).await;
    // The image's default user is root.
    refused(listed, json!({}), reason).await;
}

/// Returns a job with these services, and with variables that their names may use.
fn with_services(services: &[&str]) -> Job {
    let mut job = job(BUSYBOX);
    job.services = services.iter().map(|name| Image::named(*name)).collect();
    job.variables = vec![
        JobVariable::public("IMG", BUSYBOX),
        JobVariable::public("SVC", BUSYBOX),
    ];
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn images_and_services_outside_the_lists_are_refused() {
    let listed = DockerConfig {
        allowed_images: vec!["ruby:*".to_owned()],
        ..exec()
    };
    let mut job = with_services(&[]);
    job.image.name = "$IMG".to_owned();
    let reason = format!("image `{BUSYBOX}` is not allowed: the runner's allowed_images has only");
    job_is_refused(listed, job, &reason).await;

    let listed = DockerConfig {
        allowed_services: vec!["mysql:*".to_owned()],
        ..exec()
    };
    let reason =
        format!("service `{BUSYBOX}` is not allowed: the runner's allowed_services has only");
    job_is_refused(listed, with_services(&["$SVC"]), &reason).await;

    let few = DockerConfig {
        services_limit: 1,
        volumes: vec!["/passing".to_owned()],
        disable_cache: true,
        ..exec()
    };
    let reason = "the job has 2 services, but the runner's services_limit is 1";
    job_is_refused(few, with_services(&["$SVC", "$SVC"]), reason).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_policy_that_is_not_allowed_is_refused() {
    let never = || vec!["never".to_owned()];
    let mut job = with_services(&[]);
    job.image.pull_policy = never();
    let reason = "pull policy `never` is not allowed: the runner's pull_policy has only";
    job_is_refused(exec(), job, reason).await;

    let listed = DockerConfig {
        pull_policy: vec![PullPolicy::Always],
        allowed_pull_policies: vec![PullPolicy::Always],
        ..exec()
    };
    let mut job = with_services(&["$SVC"]);
    job.services[0].pull_policy = never();
    let reason = "pull policy `never` is not allowed: the runner's allowed_pull_policies has only";
    job_is_refused(listed, job, reason).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_settings_fail_a_job_before_anything_is_created() {
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
async fn a_numeric_user_works_and_warnings_are_logged() {
    let settings = DockerConfig {
        helper_image_flavor: Some("alpine".to_owned()),
        ..exec()
    };
    let run = Run::new(settings);
    let mut job = job(BUSYBOX);
    job.image.docker = Some(json!({ "user": 1000 }));
    let mut opened = run.open(job).await;
    let log = log_text(&opened.trace);
    assert!(log.contains("runners.docker.helper_image_flavor"), "{log}");
    assert_eq!(opened.print("id -u").await, "1000\n");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}
