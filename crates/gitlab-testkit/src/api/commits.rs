use super::call::{Call, READ};
use crate::answer::Answer;
use crate::world::ProjectRecord;
use serde_json::{Value, json};

/// `GET /projects/:id/repository/commits/:ref`
pub(super) fn one(call: &Call<'_>, id: &str, name: &str) -> Result<Answer, Answer> {
    let project = call.code(id, &READ)?;
    let commit = project.repository.commit_of(name);
    let commit = commit.ok_or_else(|| Answer::not_found("Commit"))?;
    let mut value = json(call, &project, &commit);
    if let Some(map) = value.as_object_mut() {
        map.insert("status".to_owned(), Value::Null);
        map.insert("project_id".to_owned(), json!(project.id));
        map.insert("last_pipeline".to_owned(), Value::Null);
    }
    Ok(Answer::json(&value))
}

/// Returns the JSON of a commit, which several endpoints share.
pub(super) fn json(call: &Call<'_>, project: &ProjectRecord, commit: &str) -> Value {
    let [date, title, parents] = project.repository.describe(commit).unwrap_or_default();
    let parents: Vec<&str> = parents.split_whitespace().collect();
    json!({
        "id": commit, "short_id": &commit[..8], "created_at": date, "parent_ids": parents,
        "title": title, "message": format!("{title}\n"),
        "author_name": "Test", "author_email": "test@example.com", "authored_date": date,
        "committer_name": "Test", "committer_email": "test@example.com", "committed_date": date,
        "trailers": {}, "extended_trailers": {},
        "web_url": format!("{}/{}/-/commit/{commit}", call.world.url(), project.path),
    })
}
