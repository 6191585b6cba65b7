//! Uploads and downloads of artifacts.

use crate::client::{Said, send_bytes, try_send};
use crate::runner::{payload, server_with_running_job, token};
use gitlab_testkit::{Endpoint, JobServer, Rule};
use serde_json::json;
use std::fmt::Write as _;

const BODY: &str = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"my name.zip\"\r\nContent-Type: application/octet-stream\r\n\r\nPK-content\r\n--x--\r\n";

fn upload(server: &JobServer, query: &str, body: &str) -> Said {
    let path = format!("/api/v4/jobs/1/artifacts{query}");
    let kind = "multipart/form-data; boundary=x";
    let headers = [("job-token", "token-1"), ("content-type", kind)];
    let said = try_send(server.address(), "POST", &path, &headers, body.as_bytes());
    said.expect("the server answers")
}

fn download(server: &JobServer, path: &str, headers: &[(&str, &str)]) -> Said {
    let said = try_send(server.address(), "GET", path, headers, b"");
    said.expect("the server answers")
}

#[test]
fn chunked_upload_is_stored() {
    let server = server_with_running_job();
    let mut request = "POST /api/v4/jobs/1/artifacts?artifact_format=zip&artifact_type=archive&expire_in=1+week HTTP/1.1\r\nhost: test\r\nconnection: close\r\njob-token: token-1\r\ncontent-type: multipart/form-data; boundary=x\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for piece in [&BODY[..50], &BODY[50..]] {
        let _ = write!(request, "{:x}\r\n{piece}\r\n", piece.len());
    }
    request.push_str("0\r\n\r\n");
    let said = send_bytes(server.address(), "POST", request.as_bytes()).unwrap();
    assert_eq!(
        (said.status, said.json()),
        (201, json!({"message": "201 Created"}))
    );
    let uploads = server.uploads(1);
    assert_eq!(uploads.len(), 1);
    assert_eq!(uploads[0].filename, "my name.zip");
    assert_eq!(uploads[0].bytes, b"PK-content");
    assert_eq!(uploads[0].query["expire_in"], "1 week");
    assert_eq!(uploads[0].headers[1].1, "application/octet-stream");
    // The same file again is accepted, another one of the same type is not.
    assert_eq!(upload(&server, "?artifact_type=archive", BODY).status, 201);
    let other = BODY.replace("PK-content", "PK-other");
    assert_eq!(
        upload(&server, "?artifact_type=archive", &other).status,
        400
    );
    assert_eq!(upload(&server, "?artifact_type=junit", &other).status, 201);
    assert_eq!(server.uploads(1).len(), 2);
}

#[test]
fn options_may_be_text_parts() {
    let server = server_with_running_job();
    let option = "--x\r\nContent-Disposition: form-data; name=\"artifact_type\"\r\n\r\njunit\r\n";
    assert_eq!(upload(&server, "", &format!("{option}{BODY}")).status, 201);
    assert_eq!(server.uploads(1)[0].query["artifact_type"], "junit");
    assert_eq!(upload(&server, "", &BODY[..60]).status, 400);
    let headers = [("job-token", "wrong")];
    let path = "/api/v4/jobs/1/artifacts/authorize";
    let post = |headers| {
        try_send(server.address(), "POST", path, headers, b"")
            .unwrap()
            .status
    };
    assert_eq!(post(&headers), 403);
    assert_eq!(post(&[("job-token", "token-1")]), 200);
}

#[test]
fn artifacts_are_downloaded() {
    let server = JobServer::start();
    let mut job = payload(1);
    job["dependencies"] = json!([{"id": 77, "token": "token-of-77"}]);
    server.queue(job);
    server.artifact(77, "artifacts.zip", "PK-content");
    let path = "/api/v4/jobs/77/artifacts?direct_download=true";
    let token = token(1);
    let own = [("job-token", token.as_str())];
    assert_eq!(
        download(&server, path, &own).status,
        403,
        "not yet handed out"
    );
    crate::runner::request(&server);
    let said = download(&server, path, &own);
    assert_eq!((said.status, said.body.as_str()), (200, "PK-content"));
    assert_eq!(said.header("content-type"), "application/zip");
    assert_eq!(
        said.header("content-disposition"),
        "attachment; filename=\"artifacts.zip\""
    );
    assert_eq!(
        download(&server, path, &[("job-token", "token-of-77")]).status,
        200
    );
    assert_eq!(download(&server, path, &[]).status, 401);
    assert_eq!(
        download(&server, path, &[("job-token", "wrong")]).status,
        403
    );
    assert_eq!(
        download(&server, "/api/v4/jobs/78/artifacts", &own).status,
        404
    );
    server.rule(
        Rule::on(Endpoint::ArtifactsDownload)
            .status(302)
            .header("location", "{server}/store/artifacts.zip?sig=abc"),
    );
    let said = download(&server, path, &own);
    let location = format!("{}/store/artifacts.zip?sig=abc", server.url());
    assert_eq!(
        (said.status, said.header("location")),
        (302, location.as_str())
    );
    let said = download(
        &server,
        "/store/artifacts.zip?sig=abc",
        &[("range", "bytes=0-1")],
    );
    assert_eq!((said.status, said.body.as_str()), (206, "PK"));
    assert_eq!(said.header("content-range"), "bytes 0-1/10");
    assert_eq!(server.calls().last().unwrap().endpoint, Endpoint::Store);
}
