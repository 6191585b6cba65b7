use super::endpoint::Target;
use super::rule::Damage;
use super::shared::Shared;
use super::{
    Call, CallAnswer, DropMoment, Endpoint, JobServerState, Rule, artifacts, hand_out, runners,
    store, trace, update,
};
use crate::answer::Answer;
use crate::{Request, api, server};
use axum::body::Body;
use axum::extract::State;
use axum::{Extension, Router, http};
use serde_json::Value;
use std::future;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, repeat};
use tokio::{task, time};
use tokio_util::io::ReaderStream;
use tokio_util::sync::CancellationToken;

/// Returns the routes of a job server, all of which lead to [`handle`].
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

/// Answers a call, or executes the rule for it.
async fn handle(
    State(shared): State<Arc<Shared>>,
    Extension(cut): Extension<CancellationToken>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    let received = server::receive(request).await;
    let call = call(&shared, received.request);
    let (number, rule) = shared.change(|state| state.arrived(call.clone()));
    let rule = rule.unwrap_or_else(|| Rule::on(call.endpoint));
    time::sleep(rule.delay).await;
    if rule.hangs {
        return future::pending().await;
    }
    let answer = if received.is_whole && rule.drop != Some(DropMoment::Before) {
        Some(apply(&shared, &call, &rule).await)
    } else {
        None
    };
    let answer = answer.filter(|_| rule.drop.is_none());
    let Some(answer) = answer else {
        record(&shared, number, None);
        cut.cancel();
        return future::pending().await;
    };
    let answer = answer.header("x-request-id", format!("{:026X}", number + 1));
    record(&shared, number, Some(&answer));
    if rule.damage == Some(Damage::CutBody) {
        return half(answer);
    }
    answer.into_response(None)
}

fn call(shared: &Shared, request: Request) -> Call {
    let json: Option<Value> = serde_json::from_slice(&request.body).ok();
    let target = Target::of(&request.method, &request.path, json.as_ref());
    Call {
        endpoint: target.endpoint,
        job: target.job,
        request,
        json,
        at: shared.read().started.elapsed(),
        answer: None,
        range_check: None,
        trace_check: None,
    }
}

/// Records the answer to a call; `None` if the connection is cut instead.
fn record(shared: &Shared, number: usize, answer: Option<&Answer>) {
    shared.change(|state| {
        let at = state.started.elapsed();
        state.calls[number].answer = Some(CallAnswer {
            status: answer.map_or(0, |answer| answer.status),
            headers: answer.map_or_else(Vec::new, |answer| answer.headers.clone()),
            body: answer.map_or_else(Vec::new, |answer| answer.body.clone()),
            at,
        });
    });
}

/// Returns the answer to a call with the changes of a rule.
async fn apply(shared: &Arc<Shared>, call: &Call, rule: &Rule) -> Answer {
    shared.change(|state| change_job(state, call, rule));
    let mut answer = match rule.status {
        Some(status) => ruled(shared, call, rule, status),
        None => usual(shared, call, rule).await,
    };
    if rule.damage == Some(Damage::MediaType) {
        answer = replace(answer, "content-type", "text/html");
    }
    if rule.damage == Some(Damage::Json) {
        answer = replace(answer, "content-type", "application/json");
        answer.body = b"{\"id\": ".to_vec();
    }
    if rule.status.is_some() {
        return answer;
    }
    for (name, value) in &rule.headers {
        answer = replace(answer, name, &expand(shared, value));
    }
    match &rule.body {
        None => answer,
        Some(Value::String(text)) => Answer {
            body: text.clone().into_bytes(),
            ..answer
        },
        Some(json) => Answer {
            body: json.to_string().into_bytes(),
            ..answer
        },
    }
}

/// Changes the job of a call as a rule says, before the call is processed.
fn change_job(state: &mut JobServerState, call: &Call, rule: &Rule) {
    let Some(job) = call.job.and_then(|id| state.jobs.get_mut(&id)) else {
        return;
    };
    if rule.empties_trace {
        job.trace.clear();
    }
    if rule.job_status.is_some() {
        job.status.clone_from(&rule.job_status);
    }
}

/// Returns the answer of a rule that has a status.
fn ruled(shared: &Shared, call: &Call, rule: &Rule, status: u16) -> Answer {
    let mut answer = Answer {
        status,
        headers: Vec::new(),
        body: Vec::new(),
    };
    match &rule.body {
        None => {}
        Some(Value::String(text)) => answer.body = text.clone().into_bytes(),
        Some(json) => {
            answer = answer.header("content-type", "application/json");
            answer.body = json.to_string().into_bytes();
        }
    }
    if call.endpoint.is_update() {
        let state = shared.read();
        let job = call.job.and_then(|id| state.jobs.get(&id));
        answer = answer.header("job-status", job.map_or("running", |job| job.status()));
    }
    for (name, value) in &rule.headers {
        answer = replace(answer, name, &expand(shared, value));
    }
    answer
}

/// Sets a header, in place of an earlier value.
fn replace(mut answer: Answer, name: &str, value: &str) -> Answer {
    answer.headers.retain(|(known, _)| known != name);
    answer.header(name, value)
}

/// Replaces `{server}` and `{other}` by the addresses of the server.
fn expand(shared: &Shared, value: &str) -> String {
    let server = shared.world.origin();
    let other = server.replace("127.0.0.1", "localhost");
    value.replace("{server}", server).replace("{other}", &other)
}

async fn usual(shared: &Arc<Shared>, call: &Call, rule: &Rule) -> Answer {
    let answer = match call.endpoint {
        Endpoint::Request => return hand_out::answer(shared, call).await,
        Endpoint::Git => return git(shared, call).await,
        Endpoint::UpdateRunning | Endpoint::UpdateFinal => return update::answer(shared, call),
        Endpoint::Trace => shared.change(|state| trace::append(state, call)),
        Endpoint::ArtifactsUpload => shared.change(|state| artifacts::upload(state, call)),
        Endpoint::ArtifactsAuthorize => shared.change(|state| artifacts::authorize(state, call)),
        Endpoint::ArtifactsDownload => artifacts::download(&shared.read(), call),
        Endpoint::Store => store::answer(&shared.read(), call),
        Endpoint::Verify
        | Endpoint::Register
        | Endpoint::Unregister
        | Endpoint::UnregisterManager
        | Endpoint::ResetToken => {
            let expires_at = rule.token_expires_at.as_ref();
            shared.change(|state| runners::answer(state, call, expires_at))
        }
        Endpoint::Other => Err(other(&call.request)),
    };
    answer.unwrap_or_else(|refusal| refusal)
}

async fn git(shared: &Shared, call: &Call) -> Answer {
    let (world, request) = (Arc::clone(&shared.world), call.request.clone());
    // Git runs in a child process, so the blocking pool does the work.
    let answer = task::spawn_blocking(move || api::answer(&world, &request));
    let answer = answer.await;
    answer.unwrap_or_else(|_| Answer::message(500, "500 Internal Server Error"))
}

fn other(request: &Request) -> Answer {
    match request.path.as_str() {
        "/api/v4/runners/router/discovery" => Answer::message(501, "501 Not Implemented"),
        _ => Answer::error(404, "404 Not Found"),
    }
}

/// Announces the body of an answer and sends half of it, so that the connection breaks.
fn half(answer: Answer) -> http::Response<Body> {
    let announced = answer.body.len().max(2);
    let sent = answer.body[..answer.body.len() / 2].to_vec();
    let missing = repeat(b' ').take((announced / 2 - sent.len()) as u64);
    let body = ReaderStream::new(std::io::Cursor::new(sent).chain(missing));
    let answer = replace(answer, "content-length", &announced.to_string());
    answer.into_response(Some(Body::from_stream(body)))
}
