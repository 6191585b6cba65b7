use super::call::{Call, READ};
use crate::answer::Answer;
use crate::paging;
use serde_json::{Value, json};

/// `GET /projects/:id/repository/tree`
pub(super) fn list(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    let project = call.code(id, &READ)?;
    let parameter = |name: &str| call.request.parameter(name);
    let is_recursive = parameter("recursive").is_some_and(|it| it == "true" || it == "1");
    let path = parameter("path").unwrap_or_default();
    let name = parameter("ref").unwrap_or_else(|| "HEAD".to_owned());
    let commit = project.repository.commit_of(&name);
    let commit = commit.ok_or_else(|| Answer::not_found("Tree"))?;
    let entries = project.repository.tree(&commit, &path, is_recursive);
    let entries = entries.ok_or_else(|| Answer::not_found("invalid revision or path"))?;
    let all: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let name = entry.path.rsplit('/').next();
            json!({
                "id": entry.id, "name": name, "type": entry.kind, "path": entry.path, "mode": entry.mode,
            })
        })
        .collect();
    let address = call.address();
    Ok(if paging::is_keyed(call.request) {
        let key = |entry: &Value| entry["path"].as_str().unwrap_or_default().to_owned();
        paging::keyed(call.request, &address, &all, key)
    } else {
        paging::numbered(call.request, &address, &all)
    })
}
