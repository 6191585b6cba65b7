//! A runner for tests of the job server, one HTTP call at a time.

use crate::client::{Said, try_send};
use gitlab_testkit::JobServer;
use serde_json::{Value, json};

/// The token of the runner.
pub(crate) const TOKEN: &str = "glrt-runner";

/// Returns the payload of a job, whose token is `token-<id>`.
pub(crate) fn payload(id: u64) -> Value {
    json!({"id": id, "token": token(id), "job_info": {"name": "job"}})
}

/// Returns the token of a job.
pub(crate) fn token(id: u64) -> String {
    format!("token-{id}")
}

/// Starts a server with one job, which a runner has taken and acknowledged.
pub(crate) fn server_with_running_job() -> JobServer {
    let server = JobServer::start();
    server.queue(payload(1));
    assert_eq!(request(&server).status, 201);
    assert_eq!(update(&server, 1, &json!({"state": "running"})).status, 200);
    server
}

/// Asks for a job.
pub(crate) fn request(server: &JobServer) -> Said {
    request_with(server, &json!({"token": TOKEN})).expect("the server answers")
}

/// Asks for a job with this body.
pub(crate) fn request_with(server: &JobServer, body: &Value) -> Option<Said> {
    try_send(
        server.address(),
        "POST",
        "/api/v4/jobs/request",
        &[("content-type", "application/json")],
        body.to_string().as_bytes(),
    )
}

/// Updates a job.
pub(crate) fn update(server: &JobServer, id: u64, body: &Value) -> Said {
    try_update(server, id, body).expect("the server answers")
}

/// Updates a job; returns `None` if the response is incomplete.
pub(crate) fn try_update(server: &JobServer, id: u64, body: &Value) -> Option<Said> {
    try_send(
        server.address(),
        "PUT",
        &format!("/api/v4/jobs/{id}"),
        &[
            ("job-token", &token(id)),
            ("content-type", "application/json"),
        ],
        body.to_string().as_bytes(),
    )
}

/// Reports a final state, with the size and checksum of this trace.
pub(crate) fn finish(server: &JobServer, id: u64, state: &str, trace: &str) -> Said {
    let checksum = format!("crc32:{:08x}", crc32fast::hash(trace.as_bytes()));
    let output = json!({"checksum": checksum, "bytesize": trace.len()});
    update(server, id, &json!({"state": state, "output": output}))
}

/// Sends a piece of the trace that begins at `first`.
pub(crate) fn append(server: &JobServer, id: u64, first: usize, text: &str) -> Said {
    try_append(server, id, first, text).expect("the server answers")
}

/// Sends a piece of the trace; returns `None` if the response is incomplete.
pub(crate) fn try_append(server: &JobServer, id: u64, first: usize, text: &str) -> Option<Said> {
    let range = format!("{first}-{}", first + text.len() - 1);
    try_send(
        server.address(),
        "PATCH",
        &format!("/api/v4/jobs/{id}/trace?debug_trace=false"),
        &[
            ("job-token", &token(id)),
            ("content-type", "text/plain"),
            ("content-range", &range),
        ],
        text.as_bytes(),
    )
}
