//! Jobs of the tests. Each provider has its own owner, so that its leftovers are found.

use crate::support::{address, certificates, engine};
use bollard::query_parameters::{ListContainersOptions, ListNetworksOptions, ListVolumesOptions};
use executor_core::ExecutorSettings;
use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_docker::config::DockerConfig;
use executor_docker::engine::labels::OWNER;
use executor_docker::image::PullPolicy;
use executor_docker::{DockerOptions, DockerProvider, Engine, provider};
use executor_testkit::{CommandBuilder, JobBuilder, OptionsBuilder, RecordingTrace};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(crate) const BUSYBOX: &str = "runwright-test/busybox:1";
pub(crate) const DEBIAN: &str = "runwright-test/debian:12";
pub(crate) const NONROOT: &str = "runwright-test/nonroot:1";

/// One run of the program: its provider, its settings, and a directory for its builds.
pub(crate) struct Run {
    pub(crate) provider: DockerProvider,
    pub(crate) owner: String,
    pub(crate) config: RunnerConfig,
    pub(crate) directory: tempfile::TempDir,
}

/// A job of a run.
pub(crate) struct Opened {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) trace: RecordingTrace,
    pub(crate) environment: PreparedEnvironment,
}

/// Returns the settings of the tests: the shared engine, images that are present.
pub(crate) fn settings() -> DockerConfig {
    let certificates = certificates();
    DockerConfig {
        host: Some(address()),
        tls_verify: certificates.is_some(),
        tls_cert_path: certificates.map(|path| path.display().to_string()),
        pull_policy: vec![PullPolicy::IfNotPresent],
        ..DockerConfig::default()
    }
}

/// Returns a job for this image.
pub(crate) fn job(image: &str) -> Job {
    let mut job = JobBuilder::new(1).name("test").build();
    job.image = Image::named(image);
    job
}

impl Run {
    /// Returns a run with these settings whose builds are mounted from this host.
    pub(crate) fn new(settings: DockerConfig) -> Self {
        Self::with_options(settings, DockerOptions::new())
    }

    /// Like [`new`](Self::new), with options.
    pub(crate) fn with_options(settings: DockerConfig, options: DockerOptions) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let owner = format!("executor-test-{}-{number}", std::process::id());
        let directory = tempfile::tempdir().unwrap();
        let mut config = RunnerConfig::new("test", "docker");
        config.settings = ExecutorSettings::of(settings);
        config.host_builds_dir = Some(directory.path().to_str().unwrap().to_owned());
        config.graceful_kill_timeout = Duration::from_secs(2);
        let options = options.with_owner(&owner);
        Self {
            provider: provider(options),
            owner,
            config,
            directory,
        }
    }

    /// Returns a run whose files are in volumes of the engine.
    pub(crate) fn remote(settings: DockerConfig) -> Self {
        let mut run = Self::new(settings);
        run.config.host_builds_dir = None;
        run
    }

    /// Creates an executor and prepares it.
    pub(crate) async fn try_open(
        &self,
        job: Job,
    ) -> Result<Opened, (BuildError, Box<dyn Executor>, RecordingTrace)> {
        self.try_open_with(job, &ExecutorData::new(), RecordingTrace::new())
            .await
    }

    /// Like [`try_open`](Self::try_open), with executor data and a trace.
    pub(crate) async fn try_open_with(
        &self,
        job: Job,
        data: &ExecutorData,
        trace: RecordingTrace,
    ) -> Result<Opened, (BuildError, Box<dyn Executor>, RecordingTrace)> {
        let mut executor = self.provider.create(data).unwrap();
        let options = OptionsBuilder::new()
            .config(self.config.clone())
            .job(job)
            .trace(Arc::new(trace.clone()))
            .build();
        match executor.prepare(options, &Cancellation::new()).await {
            Ok(environment) => Ok(Opened {
                executor,
                trace,
                environment,
            }),
            Err(error) => Err((error, executor, trace)),
        }
    }

    /// Like [`try_open`](Self::try_open), and creates the project's directory.
    pub(crate) async fn open(&self, job: Job) -> Opened {
        self.open_with(job, &ExecutorData::new(), RecordingTrace::new())
            .await
    }

    /// Like [`open`](Self::open), with executor data and a trace.
    pub(crate) async fn open_with(
        &self,
        job: Job,
        data: &ExecutorData,
        trace: RecordingTrace,
    ) -> Opened {
        let mut opened = match self.try_open_with(job, data, trace).await {
            Ok(opened) => opened,
            Err((error, _, trace)) => panic!("{}; log: {}", error.chain(), log_text(&trace)),
        };
        let project = opened.environment.workspace.dirs().project_dir.clone();
        let command = CommandBuilder::new(format!("mkdir -p '{project}'"))
            .stage(BuildStage::PrepareScript)
            .working_dir("/");
        let made = opened.run(command).await.unwrap();
        assert!(made.status.is_success(), "{}", log_text(&opened.trace));
        opened
    }

    /// Returns the objects of this run in the engine.
    pub(crate) async fn leftovers(&self) -> Vec<String> {
        leftovers_of(&self.owner).await
    }
}

impl Opened {
    /// Runs a command in the project's directory, unless it names another.
    pub(crate) async fn run(&mut self, command: CommandBuilder) -> Result<StageResult, BuildError> {
        self.run_until(command, &Cancellation::new()).await
    }

    /// Like `run`, and can be canceled.
    pub(crate) async fn run_until(
        &mut self,
        command: CommandBuilder,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let mut command = command.build();
        if command.working_dir.is_empty() || command.working_dir == "." {
            let project = &self.environment.workspace.dirs().project_dir;
            project.clone_into(&mut command.working_dir);
        }
        self.executor.run(command, cancellation).await
    }

    /// Runs a script in the project's directory, which must succeed, and returns its output.
    pub(crate) async fn print(&mut self, script: &str) -> String {
        self.trace.clear();
        let project = self.environment.workspace.dirs().project_dir.clone();
        let command = CommandBuilder::new(script).working_dir(project);
        let result = self.run(command).await.unwrap();
        assert!(
            result.status.is_success(),
            "{script}: {}",
            log_text(&self.trace)
        );
        self.trace.text(TraceStream::STDOUT)
    }
}

/// Returns a whole log as text.
pub(crate) fn log_text(trace: &RecordingTrace) -> String {
    String::from_utf8_lossy(&trace.all()).into_owned()
}

/// Returns the containers, networks and volumes with the label of this owner.
pub(crate) async fn leftovers_of(owner: &str) -> Vec<String> {
    leftovers_in(&engine().await, owner).await
}

/// Like `leftovers_of`, in another engine.
pub(crate) async fn leftovers_in(engine: &Engine, owner: &str) -> Vec<String> {
    let label = vec![format!("{OWNER}={owner}")];
    let filters = HashMap::from([("label".to_owned(), label)]);
    let containers = ListContainersOptions {
        all: true,
        filters: Some(filters.clone()),
        ..ListContainersOptions::default()
    };
    let containers = engine.api().list_containers(Some(containers)).await;
    let networks = ListNetworksOptions {
        filters: Some(filters.clone()),
    };
    let networks = engine.api().list_networks(Some(networks)).await.unwrap();
    let volumes = ListVolumesOptions {
        filters: Some(filters),
    };
    let volumes = engine.api().list_volumes(Some(volumes)).await.unwrap();
    let containers = containers.unwrap().into_iter();
    let containers = containers.map(|found| format!("container {:?}", found.names));
    let networks = networks.into_iter();
    let networks = networks.map(|found| format!("network {:?}", found.name));
    let volumes = volumes.volumes.unwrap_or_default().into_iter();
    let volumes = volumes.map(|found| format!("volume {}", found.name));
    containers.chain(networks).chain(volumes).collect()
}
