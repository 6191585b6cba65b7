//! A fake engine with fixed response times.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;

/// The response times; all other responses are immediate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) pull: Duration,
    pub(crate) pull_of_service: Duration,
    pub(crate) network: Duration,
}

/// Returns an engine that has every image, whose containers run forever, and where each exec succeeds at once.
pub(crate) fn engine(times: Times) -> Router {
    let fake = Fake {
        times,
        mark: Mutex::default(),
        shown: Mutex::default(),
    };
    Router::new().fallback(answer).with_state(Arc::new(fake))
}

/// The state of the fake engine.
#[derive(Debug)]
struct Fake {
    times: Times,
    /// The line that the job's container prints when it is ready.
    mark: Mutex<String>,
    /// The outputs with a connected reader.
    shown: Mutex<JoinSet<()>>,
}

impl Fake {
    /// Responds with an output stream that sends `line` and stays open; without a line it ends at once.
    fn connect(&self, request: &mut Request, line: Option<String>) -> Response {
        let upgraded = hyper::upgrade::on(request);
        let mut shown = self.shown.lock();
        shown.spawn(async move {
            let (Ok(upgraded), Some(line)) = (upgraded.await, line) else {
                return;
            };
            let mut stream = TokioIo::new(upgraded);
            let length = u8::try_from(line.len()).unwrap_or(u8::MAX);
            let frame = [&[1, 0, 0, 0, 0, 0, 0, length], line.as_bytes()].concat();
            // The reader has its line; the stream stays open until the reader disconnects.
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
}

async fn answer(State(fake): State<Arc<Fake>>, mut request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let mut words: Vec<&str> = path.split('/').skip(1).collect();
    // Skips the version of the API.
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
                fake.times.pull_of_service
            } else {
                fake.times.pull
            };
            tokio::time::sleep(wait).await;
            ok(&json!({"status": "done"}))
        }
        (&Method::POST, ["networks", "create"]) => {
            tokio::time::sleep(fake.times.network).await;
            created()
        }
        (_, ["images", ..]) => ok(&json!({"Id": "sha256:1", "Os": "linux"})),
        (&Method::POST, ["containers", "create"]) => {
            let body = axum::body::to_bytes(request.into_body(), usize::MAX).await;
            let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
            if let Some(mark) = body["Cmd"].as_array().and_then(|words| words.last()) {
                let mut noted = fake.mark.lock();
                mark.as_str().unwrap_or_default().clone_into(&mut noted);
            }
            created()
        }
        (&Method::POST, ["containers", _, "attach"]) => {
            let noted = fake.mark.lock();
            let line = format!("{noted} 0 0 none /bin/sh\n");
            drop(noted);
            fake.connect(&mut request, Some(line))
        }
        (&Method::POST, ["containers", _, "exec"]) => created(),
        (&Method::POST, ["exec", _, "start"]) => fake.connect(&mut request, None),
        (&Method::GET, ["exec", id, "json"]) => ok(&json!({
            "ID": id, "Running": false, "ExitCode": 0,
        })),
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
