//! A job with a container prepared before it started, against `docker run` of nothing.

use crate::means::{IMAGE, address, against, heading, row, settings};
use anyhow::Context as _;
use benches::Bench;
use benches::statistics::ratio;
use executor_core::job::Image;
use executor_core::{
    Cancellation, ExecutorData, ExecutorProvider as _, ExecutorSettings, RunnerConfig,
};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::{DockerOptions, DockerProvider, provider};
use executor_testkit::{CommandBuilder, JobBuilder, OptionsBuilder};
use jiff::Timestamp;
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 12;
const GOAL: f64 = 0.35;

/// The first job gives the pool time to prepare a container for the second.
const PIPELINE: &str = "
stages: [first, second]
first: {stage: first, script: [sleep 2]}
second: {stage: second, script: ['true']}
";

/// Durations of one kind, and their ratios to the floor of the same round.
#[derive(Default)]
struct Measured {
    times: Vec<Duration>,
    ratios: Vec<f64>,
}

impl Measured {
    fn add(&mut self, time: Duration, floor: Duration) {
        self.times.push(time);
        self.ratios.push(ratio(time, floor));
    }
}

pub(crate) async fn measure() -> anyhow::Result<()> {
    let (bench, address) = (Bench::start()?, address()?);
    let docker = ["--host", &address, "run", "--rm", IMAGE, "true"];
    let docker = bench.command("docker").args(docker);
    let pool = Pool::new()?;
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("config.toml"), "[docker]\nwarm = 1\n")?;
    let project = bench.project_of(PIPELINE).await?;
    let events = project.root().with_extension("events");
    let events_path = events.to_str().context("a plain path")?;
    let options = ["run", "--executor", "docker", "--image", IMAGE, "--events"];
    let runwright = bench.runwright().await?.env("DOCKER_HOST", &address);
    let runwright = match std::env::var_os("RUNWRIGHT_AGENT") {
        Some(agent) => runwright.env("RUNWRIGHT_AGENT", agent),
        None => runwright,
    };
    let pipeline = runwright
        .env("RUNWRIGHT_HOME", home.path())
        .run_with(&[&options[..], &[events_path]].concat())
        .command(&bench, &project);

    // Only now: an unused spare expires, and building the program above may have taken longer.
    pool.job().await?;
    let mut floors = Vec::new();
    let (mut scripts, mut wholes, mut seconds) = (
        Measured::default(),
        Measured::default(),
        Measured::default(),
    );
    for round in 0..=ROUNDS {
        pool.provider.settled().await;
        anyhow::ensure!(pool.provider.warm() == 1, "a container is ready");
        let floor = bench.run(&docker).await?.succeeded()?.wall;
        let (script, whole) = pool.job().await?;
        pool.provider.settled().await;
        bench.run(&pipeline).await?.succeeded()?;
        let second = second_job(&events)?;
        if round > 0 {
            floors.push(floor);
            scripts.add(script, floor);
            wholes.add(whole, floor);
            seconds.add(second, floor);
        }
    }
    pool.provider.shutdown(Duration::from_secs(30)).await?;
    heading(&format!(
        "warm: a job that does nothing and whose container is ready, {ROUNDS} rounds in turn, medians"
    ));
    row("docker run --rm IMAGE true", &floors);
    let rows = [
        ("from prepare to the end of its script", &scripts),
        ("from prepare to the end of cleanup", &wholes),
        ("in a run: from running to job_finished", &seconds),
    ];
    for (what, measured) in rows {
        against(what, &measured.times, &measured.ratios, GOAL);
    }
    Ok(())
}

/// A provider with a warm container.
struct Pool {
    provider: DockerProvider,
    config: RunnerConfig,
    _directory: tempfile::TempDir,
}

impl Pool {
    fn new() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut config = RunnerConfig::new("bench", "docker");
        config.host_builds_dir = directory.path().to_str().map(str::to_owned);
        config.settings = ExecutorSettings::of(DockerConfig {
            warm: 1,
            ..settings(EngineChoice::Agent)?
        });
        let owner = format!("bench-warm-{}", std::process::id());
        Ok(Self {
            provider: provider(DockerOptions::new().with_owner(owner)),
            config,
            _directory: directory,
        })
    }

    /// Runs a job; returns the time to the end of its script, and the time until its processes have ended and the job
    /// is finished. The pool then removes its container.
    async fn job(&self) -> anyhow::Result<(Duration, Duration)> {
        let job = JobBuilder::new(1).name("bench");
        let job = job.with(|job| job.image = Image::named(IMAGE)).build();
        let options = OptionsBuilder::new().config(self.config.clone()).job(job);
        let begun = Instant::now();
        let mut executor = self.provider.create(&ExecutorData::new())?;
        let never = Cancellation::new();
        let environment = executor.prepare(options.build(), &never).await?;
        let builds = &environment.workspace.dirs().builds_dir;
        let command = CommandBuilder::new("true").working_dir(builds.as_str());
        let status = executor.run(command.build(), &never).await?.status;
        let script = begun.elapsed();
        anyhow::ensure!(status.is_success(), "{status:?}");
        executor.cleanup().await?;
        Ok((script, begun.elapsed()))
    }
}

/// Returns the duration of the second job of a run, according to its events.
fn second_job(events: &Path) -> anyhow::Result<Duration> {
    let events = std::fs::read_to_string(events)?;
    let at = |what: &str| -> anyhow::Result<Timestamp> {
        let mut events = events.lines();
        let event = events.find(|line| line.contains(r#""job":"second""#) && line.contains(what));
        let (_, rest) = event
            .and_then(|event| event.split_once(r#""at":""#))
            .with_context(|| format!("there is {what}"))?;
        let (at, _) = rest.split_once('"').context("it has a time")?;
        Ok(at.parse()?)
    };
    let begun = at(r#""status":"running""#)?;
    let took = at(r#""type":"job_finished""#)?.duration_since(begun);
    Ok(Duration::try_from(took)?)
}
