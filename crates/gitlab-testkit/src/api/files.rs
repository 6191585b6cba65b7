use super::call::{Call, READ};
use crate::answer::Answer;
use base64::Engine as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The scopes that allow reading a file; `read_repository` is one of them.
const RAW: [&str; 3] = ["api", "read_api", "read_repository"];

/// A file at a commit.
struct File {
    name: String,
    path: String,
    reference: String,
    commit: String,
    last_commit: String,
    id: String,
    digest: String,
    bytes: Vec<u8>,
}

/// `GET /projects/:id/repository/files/:path/raw`
pub(super) fn raw(call: &Call<'_>, id: &str, path: &str) -> Result<Answer, Answer> {
    let file = find(call, id, path, &RAW)?;
    let answer = Answer::text(file.bytes.clone())
        .header(
            "content-disposition",
            format!("inline; filename=\"{}\"", file.name),
        )
        .header(
            "cache-control",
            "max-age=0, private, must-revalidate, no-store, no-cache",
        );
    Ok(with_headers(answer, &file))
}

/// `GET /projects/:id/repository/files/:path`
pub(super) fn one(call: &Call<'_>, id: &str, path: &str) -> Result<Answer, Answer> {
    if call.request.parameter("ref").is_none() {
        return Err(Answer::error(400, "ref is missing, ref is empty"));
    }
    let file = find(call, id, path, &READ)?;
    let answer = Answer::json(&json!({
        "file_name": file.name, "file_path": file.path, "size": file.bytes.len(), "encoding": "base64",
        "content_sha256": file.digest, "ref": file.reference, "blob_id": file.id,
        "commit_id": file.commit, "last_commit_id": file.last_commit, "execute_filemode": false,
        "content": base64::engine::general_purpose::STANDARD.encode(&file.bytes),
    }));
    Ok(with_headers(answer, &file))
}

fn find(call: &Call<'_>, id: &str, path: &str, scopes: &[&str]) -> Result<File, Answer> {
    let project = call.code(id, scopes)?;
    if path.split('/').any(|part| part == "..") {
        return Err(Answer::error(400, "file_path should be a valid file path"));
    }
    let commit = call.commit(&project)?;
    let found = project.repository.file(&commit, path);
    let (id, bytes) = found.ok_or_else(|| Answer::not_found("File"))?;
    let mut digest = String::new();
    for byte in Sha256::digest(&bytes) {
        let _ = write!(digest, "{byte:02x}");
    }
    let last_commit = project.repository.last_commit(&commit, path);
    Ok(File {
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        path: path.to_owned(),
        reference: call
            .request
            .parameter("ref")
            .unwrap_or_else(|| "HEAD".to_owned()),
        last_commit: last_commit.unwrap_or_else(|| commit.clone()),
        commit,
        id,
        digest,
        bytes,
    })
}

fn with_headers(answer: Answer, file: &File) -> Answer {
    answer
        .header("x-gitlab-blob-id", &file.id)
        .header("x-gitlab-commit-id", &file.commit)
        .header("x-gitlab-content-sha256", &file.digest)
        .header("x-gitlab-encoding", "base64")
        .header("x-gitlab-execute-filemode", "false")
        .header("x-gitlab-file-name", &file.name)
        .header("x-gitlab-file-path", &file.path)
        .header("x-gitlab-last-commit-id", &file.last_commit)
        .header("x-gitlab-ref", &file.reference)
        .header("x-gitlab-size", file.bytes.len().to_string())
}
