//! The conformance suite with several engines and images.
//!
//! Each image runs the whole suite with the default engine, and each engine runs it with one image. The other pairs run
//! only the parts that an image or the location of its files can affect: the full matrix takes ten minutes.

use crate::support::runner::{
    BUSYBOX, DEBIAN, NONROOT, Run, job, leftovers_in, leftovers_of, settings,
};
use crate::support::{address, engine, patient_options};
use bollard::body_full;
use bollard::models::NetworkCreateRequest;
use bollard::query_parameters::ImportImageOptions;
use executor_core::{Endpoint, ExecutorProvider, ProviderLayer};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::engine::TlsFiles;
use executor_docker::{DockerHost, Engine};
use executor_machine::drivers::{LocalEngineSettings, LocalEngines};
use executor_machine::schedule::Idle;
use executor_machine::{DriverError, MachineDriver, MachineLayer, PoolOptions};
use executor_testkit::{Report, SuiteOptions, conformance};
use futures_util::TryStreamExt;
use parking_lot::Mutex;
use process::{Settings, Supervisor};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    let owner = run.owner.clone();
    let left = move || {
        let owner = owner.clone();
        async move { leftovers_of(&owner).await }
    };
    report_of(run, image, parts, |provider| provider, left).await
}

/// Like `report`, with the provider in a layer, and objects that `left` finds.
async fn report_of<L: Future<Output = Vec<String>> + Send + 'static>(
    run: Run,
    image: &str,
    parts: &[&str],
    wrap: impl FnOnce(Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider>,
    left: impl Fn() -> L + Send + Sync + 'static,
) -> Report {
    let Run {
        provider,
        owner: _,
        mut config,
        directory,
    } = run;
    config.graceful_kill_timeout = Duration::from_secs(1);
    let find = move || {
        let left = left();
        // The suite blocks inside its runtime until the answer arrives.
        let asked = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(left)
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

/// Engines of this host, with the image of the suite.
#[derive(Debug)]
struct Engines {
    inner: LocalEngines,
    image: Vec<u8>,
    endpoints: Arc<Mutex<Vec<Endpoint>>>,
}

/// Connects to an engine of the machines.
async fn connect(endpoint: &Endpoint) -> Engine {
    let Endpoint::Engine {
        host,
        tls_cert_path,
    } = endpoint
    else {
        panic!("{endpoint:?}");
    };
    let host = DockerHost::parse(host).unwrap().with_tls(TlsFiles {
        directory: tls_cert_path.clone(),
        verify: true,
    });
    Engine::connect_with(&host, patient_options())
        .await
        .expect("it answers")
}

#[async_trait::async_trait]
impl MachineDriver for Engines {
    async fn list(&self, prefix: &str) -> Result<Vec<String>, DriverError> {
        self.inner.list(prefix).await
    }

    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        let endpoint = self.inner.create(name).await?;
        let engine = connect(&endpoint).await;
        let options = ImportImageOptions::default();
        let loaded = engine
            .api()
            .import_image(options, body_full(self.image.clone().into()), None);
        loaded.try_collect::<Vec<_>>().await.unwrap();
        self.endpoints.lock().push(endpoint.clone());
        Ok(endpoint)
    }

    async fn check(&self, name: &str, endpoint: &Endpoint) -> Result<(), DriverError> {
        self.inner.check(name, endpoint).await
    }

    async fn remove(&self, name: &str) -> Result<(), DriverError> {
        self.inner.remove(name).await
    }
}

fn files_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_on_engines_of_this_host() {
    // R-EXEC-72, R-EXEC-82, R-EXEC-83
    // In memory, as the engine of the tests.
    let fast = address().strip_prefix("unix://").map(PathBuf::from);
    let fast = fast.as_deref().and_then(Path::parent);
    let fast = fast.map_or_else(std::env::temp_dir, Path::to_owned);
    let directory = tempfile::Builder::new().prefix("m").tempdir_in(fast);
    let directory = directory.unwrap();
    let supervisor = Supervisor::start(Settings::default()).unwrap();
    let settings = LocalEngineSettings {
        directory: directory.path().to_owned(),
        ..LocalEngineSettings::default()
    };
    let image = engine().await;
    let image: Vec<_> = image
        .api()
        .export_image(BUSYBOX)
        .try_collect()
        .await
        .unwrap();
    let endpoints: Arc<Mutex<Vec<Endpoint>>> = Arc::default();
    let driver = Engines {
        inner: LocalEngines::new(settings, supervisor.tree()),
        image: image.concat(),
        endpoints: Arc::clone(&endpoints),
    };
    let mut options = PoolOptions::new("m-");
    // As many as the suite has jobs at once.
    options.schedule.otherwise.idle = Idle::Fixed(4);
    options.limits.machines = 4;
    options.schedule.otherwise.idle_time = Duration::from_hours(1);
    options.remove_on_shutdown = true;
    let layer = MachineLayer::new(options, Arc::new(driver));
    // Jobs that do not use their machine find no engine.
    let run = Run::new(DockerConfig {
        host: Some("tcp://127.0.0.1:1".to_owned()),
        tls_verify: false,
        tls_cert_path: None,
        ..with(EngineChoice::Agent)
    });
    let owner = run.owner.clone();
    let (noted, pool) = (Arc::clone(&endpoints), layer.pool().clone());
    let left = move || {
        let (owner, noted) = (owner.clone(), noted.lock().clone());
        async move {
            let mut left = Vec::new();
            for endpoint in &noted {
                left.extend(leftovers_in(&connect(endpoint).await, &owner).await);
            }
            left
        }
    };
    let wrap = |inner| {
        let provider = layer.layer(inner);
        provider.init().expect("the test has a runtime");
        provider
    };
    let report = report_of(run, BUSYBOX, &[], wrap, left).await;
    // As of a job whose runner was killed.
    let used = endpoints.lock().clone();
    let network = NetworkCreateRequest {
        name: "left".to_owned(),
        ..NetworkCreateRequest::default()
    };
    let engine = connect(&used[0]).await;
    let network = engine.api().create_network(network).await.unwrap().id;
    let bridge = format!("br-{}", &network[..12]);
    assert!(files_in(Path::new("/sys/class/net")).contains(&bridge));
    // Also after a failure of the suite: they would outlive the test.
    assert_eq!(pool.shutdown(Duration::from_mins(2)).await, []);
    supervisor.shutdown().await.unwrap();
    assert_eq!(files_in(directory.path()), Vec::<String>::new());
    let networks = files_in(Path::new("/sys/class/net"));
    assert!(
        !networks
            .iter()
            .any(|it| it.starts_with("rwm") || *it == bridge),
        "{networks:?}"
    );
    assert!(used.len() >= 2 && used[0] != used[1], "{used:?}");
    report.assert_passed();
}
