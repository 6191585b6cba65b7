//! Code shared by the parts: the engine, an open job, a line of a table.

use anyhow::Context as _;
use benches::statistics::{median, millis};
use bollard::query_parameters::ListContainersOptions;
use executor_core::job::Image;
use executor_core::{
    BuildError, Cancellation, Executor, ExecutorData, ExecutorProvider as _, ExecutorSettings,
    JobTrace, PreparedEnvironment, RunnerConfig,
};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::engine::labels::OWNER;
use executor_docker::image::PullPolicy;
use executor_docker::{DockerHost, DockerOptions, Engine, provider};
use executor_testkit::{CommandBuilder, JobBuilder, OptionsBuilder};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The image of all measurements.
pub(crate) const IMAGE: &str = "runwright-test/busybox:1";

/// Returns the address of the engine.
pub(crate) fn address() -> anyhow::Result<String> {
    std::env::var("RUNWRIGHT_TEST_DOCKER").context(
        "RUNWRIGHT_TEST_DOCKER does not say where Docker is; `cargo xtask docker -- cargo bench -p benches \
         --bench docker` starts one with the images that are needed",
    )
}

/// Connects to the engine.
pub(crate) async fn engine() -> anyhow::Result<Engine> {
    Ok(Engine::connect(&DockerHost::parse(&address()?)?).await?)
}

/// Returns the executor settings of all measurements.
pub(crate) fn settings(engine: EngineChoice) -> anyhow::Result<DockerConfig> {
    Ok(DockerConfig {
        host: Some(address()?),
        pull_policy: vec![PullPolicy::Never],
        engine,
        ..DockerConfig::default()
    })
}

/// A prepared job, with its directories on this host.
pub(crate) struct Opened {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) owner: String,
    environment: PreparedEnvironment,
    directory: tempfile::TempDir,
}

impl Opened {
    /// Prepares a job that writes its log to the given trace.
    pub(crate) async fn new(
        engine: EngineChoice,
        network_per_job: bool,
        trace: Arc<dyn JobTrace>,
    ) -> anyhow::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let owner = format!("bench-{}-{number}", std::process::id());
        let directory = tempfile::tempdir()?;
        let mut config = RunnerConfig::new("bench", "docker");
        config.host_builds_dir = directory.path().to_str().map(str::to_owned);
        config.settings = ExecutorSettings::of(settings(engine)?);
        let mut job = JobBuilder::new(u64::from(number)).name("bench");
        if network_per_job {
            job = job.variable(executor_core::variable::JobVariable::public(
                "FF_NETWORK_PER_BUILD",
                "true",
            ));
        }
        let job = job.with(|job| job.image = Image::named(IMAGE)).build();
        let options = OptionsBuilder::new().config(config).job(job).trace(trace);
        let provider = provider(DockerOptions::new().with_owner(&owner));
        let mut executor = provider.create(&ExecutorData::new())?;
        let prepared = executor
            .prepare(options.build(), &Cancellation::new())
            .await;
        match prepared {
            Ok(environment) => Ok(Self {
                executor,
                owner,
                environment,
                directory,
            }),
            Err(error) => {
                executor.cleanup().await?;
                Err(error.into())
            }
        }
    }

    /// Runs a script in the builds directory.
    pub(crate) async fn run(&mut self, script: &str) -> anyhow::Result<()> {
        let builds = &self.environment.workspace.dirs().builds_dir;
        let command = CommandBuilder::new(script).working_dir(builds.as_str());
        let never = Cancellation::new();
        let status = self.executor.run(command.build(), &never).await?.status;
        anyhow::ensure!(status.is_success(), "{script}: {status:?}");
        Ok(())
    }

    /// Returns the id of its container.
    pub(crate) async fn container(&self, engine: &Engine) -> anyhow::Result<String> {
        let label = vec![format!("{OWNER}={}", self.owner)];
        let options = ListContainersOptions {
            filters: Some(HashMap::from([("label".to_owned(), label)])),
            ..ListContainersOptions::default()
        };
        let found = engine.api().list_containers(Some(options)).await?;
        let found = found.into_iter().find_map(|found| found.id);
        found.context("the job has a container")
    }

    /// Removes the job's resources.
    pub(crate) async fn close(mut self) -> Result<(), BuildError> {
        self.executor.cleanup().await?;
        drop(self.directory);
        Ok(())
    }
}

/// Prints a heading.
pub(crate) fn heading(what: &str) {
    println!("\n{what}");
}

/// Prints the median of durations.
pub(crate) fn row(what: &str, times: &[Duration]) {
    println!("  {what:<44} {:>9.2} ms", millis(median(times)));
}

/// Prints the median of durations, and of their ratios to a floor, with the highest acceptable ratio.
pub(crate) fn against(what: &str, times: &[Duration], ratios: &[f64], goal: f64) {
    let measured = median(ratios);
    let verdict = if measured <= goal { "met" } else { "NOT MET" };
    println!(
        "  {what:<44} {:>9.2} ms {measured:>7.3}x   goal <= {goal}x: {verdict}",
        millis(median(times))
    );
}
