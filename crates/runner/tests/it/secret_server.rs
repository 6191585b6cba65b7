//! An HTTP server in this process that answers as Vault and clouds do.

use crate::bench::PATIENCE;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// The status of a request that gets no answer.
pub(crate) const SILENT: u16 = 0;

/// A request as the server received it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Method, path and query.
    pub(crate) line: String,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|it| it.to_str().expect("text"))
    }
}

#[derive(Default)]
struct State {
    answers: Mutex<HashMap<String, (u16, Value)>>,
    calls: Mutex<Vec<Call>>,
    more: Notify,
}

/// The server; it ends when this is dropped.
pub(crate) struct SecretServer {
    pub(crate) url: String,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

impl SecretServer {
    /// Starts a server that answers 404.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::<State>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&state)));
        Self {
            url: format!("http://{address}"),
            state,
            _tasks: tasks,
        }
    }

    /// Answers requests for this line from now on.
    pub(crate) fn answer(&self, line: &str, status: u16, body: Value) {
        let mut answers = self.state.answers.lock();
        answers.insert(line.to_owned(), (status, body));
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state.calls.lock().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.calls().into_iter().map(|it| it.line).collect()
    }

    /// Waits until a request for this line came.
    pub(crate) async fn wait_for(&self, line: &str) {
        let came = async {
            loop {
                let more = self.state.more.notified();
                if self.lines().iter().any(|it| it == line) {
                    return;
                }
                more.await;
            }
        };
        let came = tokio::time::timeout(PATIENCE, came).await;
        assert!(came.is_ok(), "waited for {line}: {:?}", self.lines());
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        let service = service_fn(move |request| answer(Arc::clone(&state), request));
        let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connections.spawn(async {
            // The client may leave.
            let _ = served.await;
        });
    }
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let line = format!("{} {}", parts.method, parts.uri);
    state.calls.lock().push(Call {
        line: line.clone(),
        headers: parts.headers,
        body: String::from_utf8(body.into()).expect("text"),
    });
    state.more.notify_one();
    let known = state.answers.lock().get(&line).cloned();
    let (status, body) = known.unwrap_or_else(|| (404, json!({"errors": []})));
    if status == SILENT {
        return pending().await;
    }
    let response = Response::builder().status(status);
    // Not all answers are JSON.
    let body = match body {
        Value::String(text) => text,
        body => body.to_string(),
    };
    let body = Full::new(Bytes::from(body));
    Ok(response.body(body).expect("a response"))
}
