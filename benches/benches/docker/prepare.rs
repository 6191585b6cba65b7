//! Preparing a job and fetching its sources, against the slowest single part of it.
//!
//! The engine is a fake one: each part of a job's preparation takes the time set here, and a stage in its containers
//! succeeds at once. The sources are real: git fetches them from a server whose first response takes a fixed time.
//! The result shows which parts wait for each other, without the time of Docker.

use crate::fake::{self, Times};
use crate::means::{against, heading, row};
use anyhow::Context as _;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use benches::statistics::ratio;
use executor_core::job::Image;
use executor_core::variable::JobVariable;
use executor_core::{
    ActiveJobs, BuildStage, Cancellation, ExecutorData, ExecutorSettings, JobAssignment,
    JobObserver, JobRunner as _, JobSlot, RunContext, RunnerConfig, StageReport, TraceStream,
};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::image::PullPolicy;
use executor_docker::{DockerOptions, provider};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunner, BuildRunnerOptions, LocalRepositories, Sources};
use process::{Settings, Supervisor};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

const ROUNDS: usize = 7;
const GOAL: f64 = 1.15;
const TIMES: Times = Times {
    pull: Duration::from_millis(800),
    pull_of_service: Duration::from_millis(700),
    network: Duration::from_millis(600),
};
/// The delay of the git server's first response.
const SOURCES: Duration = Duration::from_millis(600);

pub(crate) async fn measure() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let socket = directory.path().join("fake.sock");
    let mut serving = JoinSet::new();
    let listener = UnixListener::bind(&socket)?;
    serving.spawn(async move { axum::serve(listener, fake::engine(TIMES)).await });
    let supervisor = Supervisor::start(Settings::default())?;
    let place = Place {
        engine: format!("unix://{}", socket.display()),
        repository: directory.path().join("repository"),
        builds: directory.path().join("builds"),
        supervisor,
    };
    let sha = place.repository()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let remote = format!("http://{}/.git", listener.local_addr()?);
    let server = Router::new()
        .fallback(file)
        .with_state(place.repository.clone());
    serving.spawn(async move { axum::serve(listener, server).await });
    let (mut times, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let time = place.once(&remote, &sha).await?;
        if round > 0 {
            times.push(time);
            ratios.push(ratio(time, TIMES.pull));
        }
    }
    heading(&format!(
        "preparing a job with a service and sources, a FAKE engine with set times, {ROUNDS} rounds, medians"
    ));
    row("the pull of the image", &[TIMES.pull]);
    row("the pull of the service's image", &[TIMES.pull_of_service]);
    row("the job's network", &[TIMES.network]);
    row("the first answer of the git server", &[SOURCES]);
    against("all of it", &times, &ratios, GOAL);
    Ok(())
}

/// The directory of the measurement.
struct Place {
    engine: String,
    repository: PathBuf,
    builds: PathBuf,
    supervisor: Supervisor,
}

impl Place {
    /// Creates a repository with one commit, and returns the commit id.
    fn repository(&self) -> anyhow::Result<String> {
        std::fs::create_dir(&self.repository)?;
        std::fs::write(self.repository.join("Makefile"), "all:\n")?;
        let git = |words: &[&str]| {
            let who = [
                "-c",
                "user.name=bench",
                "-c",
                "user.email=bench@example.com",
            ];
            #[expect(
                clippy::disallowed_methods,
                reason = "a repository is made, nothing is measured"
            )]
            let mut git = std::process::Command::new("git");
            let output = git
                .current_dir(&self.repository)
                .args(who)
                .args(words)
                .output()?;
            anyhow::ensure!(output.status.success(), "git {words:?}: {output:?}");
            Ok(String::from_utf8(output.stdout)?.trim().to_owned())
        };
        git(&["init", "-q", "-b", "main"])?;
        git(&["add", "."])?;
        git(&["commit", "-q", "-m", "all"])?;
        git(&["update-server-info"])?;
        git(&["rev-parse", "HEAD"])
    }

    /// Returns the time from the start of a job until its sources are present.
    async fn once(&self, remote: &str, sha: &str) -> anyhow::Result<Duration> {
        let builds = self.builds.to_str().context("the directory is text")?;
        let mut config = RunnerConfig::new("bench", "docker");
        config.host_builds_dir = Some(builds.to_owned());
        config.settings = ExecutorSettings::of(DockerConfig {
            host: Some(self.engine.clone()),
            pull_policy: vec![PullPolicy::Always],
            engine: EngineChoice::Exec,
            ..DockerConfig::default()
        });
        let job = JobBuilder::new(1).script(["true"]).with(|job| {
            job.image = Image::named("fake/image:1");
            job.services = vec![Image::named("fake/service:1")];
            job.git_info.repo_url = remote.into();
            sha.clone_into(&mut job.git_info.sha);
            "main".clone_into(&mut job.git_info.ref_name);
        });
        let job = job.variable(JobVariable::public("GIT_STRATEGY", "clone"));
        let watch = Arc::new(Watch::default());
        let assignment = JobAssignment {
            job: Arc::new(job.build()),
            attempt: 1,
            observer: Arc::clone(&watch) as Arc<dyn JobObserver>,
            cancellation: Cancellation::new(),
        };
        let context = RunContext {
            provider: Arc::new(provider(DockerOptions::new())),
            config: Arc::new(config),
            data: ExecutorData::new(),
            slot: JobSlot::default(),
            active: ActiveJobs::new(),
        };
        let options = BuildRunnerOptions {
            sources: Sources::Git(LocalRepositories::Refused),
            ..BuildRunnerOptions::default()
        };
        let runner = BuildRunner::new(options, self.supervisor.clone());
        let begin = Instant::now();
        let outcome = runner.run(assignment, context).await;
        process::remove_tree(&self.builds)?;
        let error = outcome.error.map(|error| error.chain());
        anyhow::ensure!(
            error.is_none(),
            "the job fails: {}",
            error.unwrap_or_default()
        );
        let there = watch.there.get().context("the job has got its sources")?;
        Ok(there.duration_since(begin))
    }
}

/// Records when a job's sources are present.
#[derive(Debug, Default)]
struct Watch {
    there: OnceLock<Instant>,
}

impl JobObserver for Watch {
    fn stage_finished(&self, report: &StageReport) {
        if report.stage == BuildStage::GetSources && report.succeeded {
            let _ = self.there.set(Instant::now());
        }
    }

    fn started(&self) {}
    fn stage_started(&self, _: &BuildStage) {}
    fn output(&self, _: TraceStream, _: &[u8]) {}
    fn idle(&self, _: TraceStream) {}
}

/// Serves the files of a repository, which is enough for git's dumb HTTP protocol.
async fn file(State(root): State<PathBuf>, request: Request) -> Response {
    let path = Path::new(request.uri().path().trim_start_matches('/'));
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !path.components().all(is_below) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if path.ends_with("info/refs") {
        tokio::time::sleep(SOURCES).await;
    }
    match tokio::fs::read(root.join(path)).await {
        Ok(content) => content.into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}
