use super::JobList;
use crate::metrics::Metrics;
use crate::process_state::ProcessState;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tokio::sync::watch;

/// The data that [`serve_debug`](super::serve_debug) shows; [`Manager::debug_state`](crate::Manager::debug_state) returns it.
#[derive(Debug, Clone)]
pub struct DebugState {
    pub(crate) metrics: Metrics,
    pub(crate) process: watch::Receiver<ProcessState>,
    pub(crate) jobs: JobList,
}

/// The media type of metrics.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

const TEXT: &str = "text/plain; charset=utf-8";

impl DebugState {
    /// Returns the answer to a request.
    pub(super) fn respond(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let page = match path {
            "/metrics" => self.metrics(),
            "/debug/jobs/list" => {
                let mut page = text(StatusCode::OK, self.jobs.lines());
                let version = HeaderValue::from_static("2");
                page.headers_mut().insert("x-list-version", version);
                page
            }
            "/debug/process/state" => text(StatusCode::OK, format!("{}\n", self.state().as_str())),
            "/health/live" => text(StatusCode::OK, "live\n".to_owned()),
            "/health/ready" => match self.state() {
                ProcessState::Running => text(StatusCode::OK, "ready\n".to_owned()),
                other => text(
                    StatusCode::SERVICE_UNAVAILABLE,
                    format!("not ready: {}\n", other.as_str()),
                ),
            },
            _ => return text(StatusCode::NOT_FOUND, "not found\n".to_owned()),
        };
        if matches!(*method, Method::GET | Method::HEAD) {
            return page;
        }
        let refusal = "only GET and HEAD are possible\n".to_owned();
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, refusal);
        let allowed = HeaderValue::from_static("GET, HEAD");
        refusal.headers_mut().insert(ALLOW, allowed);
        refusal
    }

    fn state(&self) -> ProcessState {
        *self.process.borrow()
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        match self.metrics.scrape() {
            Ok(metrics) => with_type(StatusCode::OK, metrics, METRICS),
            Err(error) => text(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the metrics cannot be written: {error}\n"),
            ),
        }
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    with_type(status, text, TEXT)
}

fn with_type(status: StatusCode, text: String, kind: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
