use super::call::{Call, READ};
use super::commits;
use crate::Role;
use crate::answer::Answer;
use serde_json::json;

/// `GET /projects/:id/repository/branches/:name`
pub(super) fn one(call: &Call<'_>, id: &str, name: &str) -> Result<Answer, Answer> {
    let who = call.who(&READ)?;
    let project = call.code_for(id, &who)?;
    let commit = project.repository.commit_of(&format!("refs/heads/{name}"));
    let commit = commit.ok_or_else(|| Answer::not_found("Branch"))?;
    Ok(Answer::json(&json!({
        "name": name,
        "merged": false,
        "protected": project.protects(name),
        "developers_can_push": false,
        "developers_can_merge": false,
        "can_push": who.role() == Some(Role::Maintainer),
        "default": name == "main",
        "web_url": format!("{}/{}/-/tree/{name}", call.world.url(), project.path),
        "commit": commits::json(call, &project, &commit),
    })))
}
