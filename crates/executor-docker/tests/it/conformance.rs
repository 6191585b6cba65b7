//! The suite that every executor passes, with several engines and images.

use crate::support::runner::{BUSYBOX, DEBIAN, NONROOT, Run, job, left_of, settings};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::{Report, SuiteOptions, conformance};
use std::sync::Arc;
use std::time::Duration;

async fn check(run: Run, image: &str) {
    report(run, image).await.assert_passed();
}

/// All but one check pass: no signal that it sends itself kills the first process of a container.
async fn check_attach(run: Run, image: &str) {
    let report = report(run, image).await;
    assert!(report.is_whole(), "{report}");
    assert_eq!(report.failed(), ["signals"], "{report}");
}

async fn report(run: Run, image: &str) -> Report {
    let Run {
        provider,
        owner,
        mut config,
        directory,
    } = run;
    config.graceful_kill_timeout = Duration::from_secs(1);
    let find = move || {
        let owner = owner.clone();
        // The suite asks from inside its runtime, and waits for the answer.
        let asked = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(left_of(&owner))
        });
        asked.join().unwrap()
    };
    let options = SuiteOptions::new(config)
        .job(job(image))
        .exit_codes([0, 1, 2, 42, 126, 127, 128, 137, 143, 255])
        .jobs(4)
        .output_bytes(32_000_000)
        .line_bytes(2_000_000)
        .memory_growth(24 * 1024 * 1024)
        .promptness(Duration::from_secs(30))
        .leftovers(find);
    let report = conformance(Arc::new(provider), options).await;
    drop(directory);
    report
}

fn with(engine: EngineChoice) -> DockerConfig {
    DockerConfig {
        engine,
        ..settings()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_in_busybox() {
    check(Run::new(with(EngineChoice::Exec)), BUSYBOX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_in_debian() {
    check(Run::new(with(EngineChoice::Exec)), DEBIAN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_in_an_image_whose_user_is_not_root() {
    check(Run::new(with(EngineChoice::Exec)), NONROOT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_with_files_in_a_volume() {
    check(Run::remote(with(EngineChoice::Exec)), NONROOT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_in_busybox() {
    check_attach(Run::new(with(EngineChoice::Attach)), BUSYBOX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_in_debian() {
    check_attach(Run::new(with(EngineChoice::Attach)), DEBIAN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_with_files_in_a_volume() {
    let config = DockerConfig {
        helper_image: Some(DEBIAN.to_owned()),
        ..with(EngineChoice::Attach)
    };
    check_attach(Run::remote(config), NONROOT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_in_busybox() {
    check(Run::new(with(EngineChoice::Agent)), BUSYBOX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_in_debian() {
    check(Run::new(with(EngineChoice::Agent)), DEBIAN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_in_an_image_whose_user_is_not_root() {
    check(Run::new(with(EngineChoice::Agent)), NONROOT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_with_files_in_a_volume() {
    check(Run::remote(with(EngineChoice::Agent)), NONROOT).await;
}
