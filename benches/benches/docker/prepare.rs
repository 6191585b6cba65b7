//! Preparing a job, against the slowest single part of it.
//!
//! The engine is a fake one: it answers what the preparation of a job asks, and each part takes the time that is set
//! here. So what is measured is what waits for what, and nothing of Docker.

use crate::means::{against, heading, row};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use benches::statistics::ratio;
use executor_core::job::Image;
use executor_core::{
    Cancellation, ExecutorData, ExecutorProvider as _, ExecutorSettings, RunnerConfig,
};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::image::PullPolicy;
use executor_docker::{DockerOptions, provider};
use executor_testkit::{JobBuilder, OptionsBuilder};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use tokio::task::JoinSet;

const ROUNDS: usize = 7;
const GOAL: f64 = 1.15;
const PULL: Duration = Duration::from_millis(800);
const PULL_OF_SERVICE: Duration = Duration::from_millis(700);
const NETWORK: Duration = Duration::from_millis(600);

pub(crate) async fn measure() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let socket = directory.path().join("fake.sock");
    let fake = Router::new()
        .fallback(answer)
        .with_state(Arc::<Fake>::default());
    let listener = UnixListener::bind(&socket)?;
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, fake).await });
    let (mut times, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let time = once(&socket, directory.path()).await?;
        if round > 0 {
            times.push(time);
            ratios.push(ratio(time, PULL));
        }
    }
    heading(&format!(
        "preparing a job with a service, a FAKE engine with set times, {ROUNDS} rounds, medians"
    ));
    row("the pull of the image", &[PULL]);
    row("the pull of the service's image", &[PULL_OF_SERVICE]);
    row("the job's network", &[NETWORK]);
    against("all of it", &times, &ratios, GOAL);
    Ok(())
}

async fn once(socket: &Path, directory: &Path) -> anyhow::Result<Duration> {
    let mut config = RunnerConfig::new("bench", "docker");
    config.host_builds_dir = directory.to_str().map(str::to_owned);
    config.settings = ExecutorSettings::of(DockerConfig {
        host: Some(format!("unix://{}", socket.display())),
        pull_policy: vec![PullPolicy::Always],
        engine: EngineChoice::Exec,
        ..DockerConfig::default()
    });
    let job = JobBuilder::new(1).with(|job| {
        job.image = Image::named("fake/image:1");
        job.services = vec![Image::named("fake/service:1")];
    });
    let options = OptionsBuilder::new().config(config).job(job.build());
    let mut executor = provider(DockerOptions::new()).create(&ExecutorData::new())?;
    let begin = Instant::now();
    let prepared = executor
        .prepare(options.build(), &Cancellation::new())
        .await;
    let time = begin.elapsed();
    executor.cleanup().await?;
    prepared?;
    Ok(time)
}

/// What the fake engine remembers.
#[derive(Debug, Default)]
struct Fake {
    /// What the job's container says when it is ready.
    mark: Mutex<String>,
    /// The outputs that somebody reads.
    shown: Mutex<JoinSet<()>>,
}

async fn answer(State(fake): State<Arc<Fake>>, mut request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let mut words: Vec<&str> = path.split('/').skip(1).collect();
    // The version of the API.
    if words[0].starts_with("v1.") {
        words.remove(0);
    }
    match (request.method(), &words[..]) {
        (_, ["version"]) => ok(&json!({
            "Version": "0.0.0", "ApiVersion": "1.41", "MinAPIVersion": "1.12",
            "Os": "linux", "Arch": std::env::consts::ARCH,
        })),
        (&Method::POST, ["images", "create"]) => {
            let wait = if query.contains("service") {
                PULL_OF_SERVICE
            } else {
                PULL
            };
            tokio::time::sleep(wait).await;
            ok(&json!({"status": "done"}))
        }
        (&Method::POST, ["networks", "create"]) => {
            tokio::time::sleep(NETWORK).await;
            created()
        }
        (_, ["images", ..]) => ok(&json!({"Id": "sha256:1", "Os": "linux"})),
        (&Method::POST, ["containers", "create"]) => {
            let body = axum::body::to_bytes(request.into_body(), usize::MAX).await;
            let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
            if let Some(mark) = body["Cmd"].as_array().and_then(|words| words.last()) {
                let mut noted = fake.mark.lock().unwrap_or_else(PoisonError::into_inner);
                mark.as_str().unwrap_or_default().clone_into(&mut noted);
            }
            created()
        }
        (&Method::POST, ["containers", _, "attach"]) => {
            let noted = fake.mark.lock().unwrap_or_else(PoisonError::into_inner);
            let line = format!("{noted} 0 0 /bin/sh\n");
            drop(noted);
            let upgraded = hyper::upgrade::on(&mut request);
            let mut shown = fake.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.spawn(async move {
                let Ok(upgraded) = upgraded.await else { return };
                let mut stream = TokioIo::new(upgraded);
                let length = u8::try_from(line.len()).unwrap_or(u8::MAX);
                let frame = [&[1, 0, 0, 0, 0, 0, 0, length], line.as_bytes()].concat();
                // Who reads it has what is needed; the connection stays until that one is gone.
                if stream.write_all(&frame).await.is_ok() {
                    std::future::pending::<()>().await;
                }
            });
            let response = Response::builder()
                .status(StatusCode::SWITCHING_PROTOCOLS)
                .header(header::CONNECTION, "Upgrade")
                .header(header::UPGRADE, "tcp");
            response.body(Body::empty()).unwrap_or_default()
        }
        (&Method::POST, ["containers", _, "wait"]) => std::future::pending().await,
        (&Method::GET, ["containers", id, "json"]) => ok(&json!({
            "Id": id, "Name": id, "State": {"Running": true, "Status": "running"},
        })),
        (&Method::GET | &Method::PUT, _) => ok(&json!({})),
        _ => {
            let response = Response::builder().status(StatusCode::NO_CONTENT);
            response.body(Body::empty()).unwrap_or_default()
        }
    }
}

fn created() -> Response {
    let mut response = ok(&json!({"Id": "fake", "Warning": "", "Warnings": []}));
    *response.status_mut() = StatusCode::CREATED;
    response
}

fn ok(body: &Value) -> Response {
    let response = Response::builder().header(header::CONTENT_TYPE, "application/json");
    response
        .body(Body::from(body.to_string()))
        .unwrap_or_default()
}
