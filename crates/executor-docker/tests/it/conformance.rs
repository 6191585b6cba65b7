//! The conformance suite with several engines and images.
//!
//! Each image runs the whole suite with the default engine, and each engine runs it with one image. The other pairs run
//! only the parts that an image or the location of its files can affect: the full matrix takes ten minutes.

use crate::support::endpoints::{Certificates, Port};
use crate::support::runner::{BUSYBOX, DEBIAN, NONROOT, Run, job, leftovers_of, settings};
use executor_core::{Endpoint, ExecutorProvider, ProviderLayer};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_machine::{DriverError, MachineDriver, MachineLayer, PoolOptions};
use executor_testkit::{Report, SuiteOptions, conformance};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The parts that depend on the programs of an image, its user, or the location of its jobs' files.
const PARTS: &[&str] = &[
    "exit_codes",
    "multi_line_script",
    "standard_input_is_empty",
    "environment_variables",
    "variables_end_with_their_job",
    "file_variables",
    "file_variables_are_private",
    "stages_share_files",
    "working_directory",
    "raw_bytes",
    "output_is_live",
    "timeout",
    "cancel_terminates_first",
    "after_script_runs_after_cancel",
    "cleanup_twice",
    "cleanup_leaves_no_files",
    "nothing_is_left",
];

async fn check(run: Run, image: &str) {
    report(run, image, &[]).await.assert_passed();
}

async fn check_parts(run: Run, image: &str) {
    report(run, image, PARTS).await.assert_part_passed();
}

/// Like `check_parts`, for files that travel as tar streams, by the agent or by the image's `tar`.
async fn check_parts_and_files(run: Run, image: &str) {
    let parts = [PARTS, &["file_transfer"]].concat();
    report(run, image, &parts).await.assert_part_passed();
}

/// All but one check pass: a signal that the first process of a container sends to itself does not kill it.
async fn check_attach(run: Run, image: &str) {
    let report = report(run, image, &[]).await;
    assert!(report.is_whole(), "{report}");
    assert_eq!(report.failed(), ["signals"], "{report}");
}

/// Runs the suite or parts of it.
pub(crate) async fn report(run: Run, image: &str, parts: &[&str]) -> Report {
    report_of(run, image, parts, |provider| provider).await
}

/// Like `report`, with the provider in a layer.
async fn report_of(
    run: Run,
    image: &str,
    parts: &[&str],
    wrap: impl FnOnce(Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider>,
) -> Report {
    let Run {
        provider,
        owner,
        mut config,
        directory,
    } = run;
    config.graceful_kill_timeout = Duration::from_secs(1);
    let find = move || {
        let owner = owner.clone();
        // The suite blocks inside its runtime until the answer arrives.
        let asked = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(leftovers_of(&owner))
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
        .leftovers(find)
        .only(parts.iter().copied());
    let report = conformance(wrap(Arc::new(provider)), options).await;
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
    check_parts_and_files(Run::new(with(EngineChoice::Exec)), DEBIAN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_in_an_image_whose_user_is_not_root() {
    check_parts(Run::new(with(EngineChoice::Exec)), NONROOT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_with_files_in_a_volume() {
    check_parts_and_files(Run::remote(with(EngineChoice::Exec)), NONROOT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_in_busybox() {
    check_attach(Run::new(with(EngineChoice::Attach)), BUSYBOX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_in_debian() {
    check_parts(Run::new(with(EngineChoice::Attach)), DEBIAN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_with_files_in_a_volume() {
    let config = DockerConfig {
        helper_image: Some(DEBIAN.to_owned()),
        ..with(EngineChoice::Attach)
    };
    check_parts(Run::remote(config), NONROOT).await;
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
    check_parts_and_files(Run::remote(with(EngineChoice::Agent)), NONROOT).await;
}

/// Machines that are all the engine of the tests, behind a port with TLS.
#[derive(Debug)]
struct OneEngine {
    endpoint: Endpoint,
    created: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl MachineDriver for OneEngine {
    async fn list(&self, _prefix: &str) -> Result<Vec<String>, DriverError> {
        Ok(Vec::new())
    }

    async fn create(&self, _name: &str) -> Result<Endpoint, DriverError> {
        self.created.fetch_add(1, Ordering::Relaxed);
        Ok(self.endpoint.clone())
    }

    async fn check(&self, _name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
        Ok(())
    }

    async fn remove(&self, _name: &str) -> Result<(), DriverError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_on_machines_of_a_pool() {
    // R-EXEC-82, R-EXEC-83, R-EXEC-96
    let certificates = Certificates::new();
    let port = Port::tls(&certificates);
    let created = Arc::new(AtomicUsize::new(0));
    let driver = OneEngine {
        endpoint: Endpoint::Engine {
            host: format!("tcp://127.0.0.1:{}", port.number),
            tls_cert_path: Some(certificates.path().to_owned()),
        },
        created: Arc::clone(&created),
    };
    // Jobs that do not use their machine find no engine.
    let settings = DockerConfig {
        host: Some("tcp://127.0.0.1:1".to_owned()),
        tls_verify: false,
        tls_cert_path: None,
        ..with(EngineChoice::Agent)
    };
    let layer = MachineLayer::new(PoolOptions::new("test-"), Arc::new(driver));
    let wrap = |inner| {
        let provider = layer.layer(inner);
        provider.init().expect("the test has a runtime");
        provider
    };
    let report = report_of(Run::new(settings), BUSYBOX, &[], wrap).await;
    report.assert_passed();
    assert!(created.load(Ordering::Relaxed) > 0);
}
