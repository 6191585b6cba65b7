//! Spans of jobs for OpenTelemetry, sent to the endpoints that the server names.

use crate::api::Server;
use crate::metrics::StageClock;
use crate::outbox::JobEnd;
use crate::system_id::random_hex;
use executor_core::job::{Job, TracingFeatures};
use executor_core::{RunnerConfig, chain};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use web::{Body, Content, Limits, Method, Request, Url, Web};

/// How long an endpoint may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// A span of the trace without an error, and with one (`Status.code` of OTLP).
const OK: u8 = 1;
const ERROR: u8 = 2;

/// The spans of one job: `job_execution`, as GitLab Runner has it, and one below it for each stage.
pub(crate) struct JobSpans {
    tracing: TracingFeatures,
    clock: Arc<StageClock>,
    attributes: Vec<Value>,
    version: String,
    began: SystemTime,
}

impl JobSpans {
    /// Returns the spans of a job that began at this time; `None` if the server wants none.
    pub(crate) fn of(
        job: &Job,
        id: u64,
        config: &RunnerConfig,
        version: &str,
        clock: &Arc<StageClock>,
        began: SystemTime,
    ) -> Option<Self> {
        let tracing = job.features.tracing.clone()?;
        let ids = [(&tracing.trace_id, 32), (&tracing.span_parent_id, 16)];
        let is_id = |(id, length): &(&String, usize)| {
            id.len() == *length && id.bytes().all(|it| it.is_ascii_hexdigit())
        };
        if tracing.otel_endpoints.is_empty() || !ids.iter().all(is_id) {
            return None;
        }
        let variable = |name: &str| {
            let mut found = job.variables.iter().filter(|it| it.key == name);
            found.next_back().map(|it| &*it.value).unwrap_or_default()
        };
        Some(Self {
            tracing,
            clock: Arc::clone(clock),
            attributes: vec![
                number("ci.job.id", job.id.0),
                number("ci.project.id", job.job_info.project_id),
                text("ci.pipeline.id", variable("CI_PIPELINE_ID")),
                text("ci.pipeline.source", variable("CI_PIPELINE_SOURCE")),
                number("ci.runner.id", id),
                text("ci.runner.executor", &config.executor),
            ],
            version: version.to_owned(),
            began,
        })
    }

    /// Sends the spans to all endpoints. An endpoint that does not take them is named in the log of the runner.
    pub(crate) async fn send(self, server: &Server, job: u64, end: &JobEnd) {
        let web = server.secret_stores().with_limits(Limits {
            deadline: ANSWER,
            overall: ANSWER,
            redirects: 0,
            attempts: 1,
            ..Limits::default()
        });
        let body = self.message(end).to_string();
        let endpoints = self.tracing.otel_endpoints.iter();
        let sending = endpoints.map(|endpoint| send_to(&web, endpoint, &body));
        for why in join_all(sending).await.into_iter().filter_map(Result::err) {
            tracing::warn!(job, "The spans of a job were not sent: {why}.");
        }
    }

    /// Returns an `ExportTraceServiceRequest` of OTLP.
    fn message(&self, end: &JobEnd) -> Value {
        let root = span_id();
        let mut attributes = self.attributes.clone();
        attributes.push(json!({ "key": "ci.job.status", "value": { "stringValue": end.state } }));
        let span = |name: &str, began: SystemTime, ended: SystemTime, succeeded: bool| {
            json!({
                "traceId": self.tracing.trace_id,
                "spanId": span_id(),
                "parentSpanId": root,
                "name": name,
                "kind": 1,
                "startTimeUnixNano": nanoseconds(began),
                "endTimeUnixNano": nanoseconds(ended),
                "status": { "code": if succeeded { OK } else { ERROR } },
            })
        };
        let succeeded = end.reason.is_none();
        let mut job = span("job_execution", self.began, SystemTime::now(), succeeded);
        job["spanId"] = json!(root);
        job["parentSpanId"] = json!(self.tracing.span_parent_id);
        job["attributes"] = json!(attributes);
        let mut spans = vec![job];
        for stage in self.clock.stages() {
            let began = stage.ended.checked_sub(stage.took);
            let began = began.unwrap_or(stage.ended);
            spans.push(span(&stage.name, began, stage.ended, stage.succeeded));
        }
        let service = [
            text("service.name", "runner"),
            text("service.version", &self.version),
        ];
        json!({ "resourceSpans": [{
            "resource": { "attributes": service },
            "scopeSpans": [{
                "scope": { "name": "runwright", "version": self.version },
                "spans": spans,
            }],
        }] })
    }
}

/// Addresses may have tokens.
impl fmt::Debug for JobSpans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobSpans").finish_non_exhaustive()
    }
}

/// Sends a message to an endpoint. The error has no part of its address that may be secret.
async fn send_to(web: &Web, endpoint: &Value, body: &str) -> Result<(), String> {
    let url = endpoint["url"].as_str().unwrap_or_default();
    let url = Url::parse(url).map_err(|_| "a collector has no address".to_owned())?;
    let host = url.host_str().unwrap_or_default();
    if let Some(kind) = endpoint["auth"]["type"].as_str() {
        return Err(format!("the login {kind:?} at {host} is not supported"));
    }
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        return Err(format!("{scheme} to {host} is not supported, only http(s)"));
    }
    let host = host.to_owned();
    let body = Body {
        content_type: "application/json".to_owned(),
        content: Content::Bytes(body.into()),
    };
    let request = Request {
        method: Method::Post(body),
        ..Request::get(url)
    };
    match web.send(&request).await {
        Ok(response) if (200..300).contains(&response.status) => Ok(()),
        Ok(response) => Err(format!("{host} answers {}", response.status)),
        Err(error) => Err(chain(&error)),
    }
}

fn span_id() -> String {
    let mut id = random_hex().unwrap_or_default();
    id.truncate(16);
    id
}

fn nanoseconds(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos().to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Numbers of 64 bits are texts in the JSON of OTLP.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}
