//! Artifacts of jobs: `jobs/:id/artifacts`.

use super::{Call, JobServerState, Upload, multipart};
use crate::answer::Answer;
use serde_json::json;
use std::collections::BTreeMap;

/// The options of an upload, as query parameters or as text parts.
const OPTIONS: [&str; 3] = ["artifact_format", "artifact_type", "expire_in"];

/// Stores an upload.
pub(crate) fn upload(state: &mut JobServerState, call: &Call) -> Result<Answer, Answer> {
    let job = state.running_job(call)?;
    let content_type = call.header("content-type").unwrap_or_default();
    let parts = multipart::parse(content_type, &call.request.body);
    let invalid = || Answer::error(400, "file is invalid");
    let parts = parts.ok_or_else(invalid)?;
    let mut query = BTreeMap::new();
    for name in OPTIONS {
        let field = || {
            let part = parts.iter().find(|part| part.name == name)?;
            Some(String::from_utf8_lossy(&part.bytes).into_owned())
        };
        if let Some(value) = call.request.parameter(name).or_else(field) {
            query.insert(name.to_owned(), value);
        }
    }
    let file = parts.into_iter().find(|part| part.name == "file");
    let file = file.ok_or_else(invalid)?;
    let upload = Upload {
        query,
        filename: file.filename.ok_or_else(invalid)?,
        headers: file.headers,
        bytes: file.bytes,
    };
    let kind = |upload: &Upload| upload.query.get("artifact_type").cloned();
    let mut same_type = job.uploads.iter().filter(|it| kind(it) == kind(&upload));
    match same_type.next() {
        None => job.uploads.push(upload),
        // The answer to the first upload was lost.
        Some(known) if known.bytes == upload.bytes => {}
        Some(_) => {
            let problem = "400 Bad request - another artifact of the same type already exists";
            return Err(Answer::message(400, problem));
        }
    }
    Ok(Answer::message(201, "201 Created"))
}

/// Permits an upload, as GitLab's reverse proxy asks for.
pub(crate) fn authorize(state: &mut JobServerState, call: &Call) -> Result<Answer, Answer> {
    state.running_job(call)?;
    let limits = json!({"TempPath": "/tmp/uploads", "MaximumSize": 1_u64 << 30});
    Ok(Answer::json(&limits))
}

/// Returns the artifacts of a job to another job that depends on it.
pub(crate) fn download(state: &JobServerState, call: &Call) -> Result<Answer, Answer> {
    let token = call.token().ok_or_else(Answer::unauthorized)?;
    let jobs = state.jobs.values().filter(|job| job.handed_out > 0);
    let is_allowed = |job: &super::job::Job| {
        let dependencies = job.payload["dependencies"].as_array();
        let mut dependencies = dependencies.into_iter().flatten();
        job.token == token || dependencies.any(|one| one["token"].as_str() == Some(&token))
    };
    if !jobs.into_iter().any(is_allowed) {
        return Err(Answer::forbidden());
    }
    let file = call.job.and_then(|id| state.artifacts.get(&id));
    let file = file.ok_or_else(|| Answer::message(404, "404 Not Found"))?;
    let is_zip = file.bytes.starts_with(b"PK");
    let kind = if is_zip {
        "application/zip"
    } else {
        "application/octet-stream"
    };
    let disposition = format!("attachment; filename=\"{}\"", file.name);
    Ok(Answer::new(200, kind, file.bytes.clone()).header("content-disposition", disposition))
}
