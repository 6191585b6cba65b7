use super::call::Call;
use crate::Role;
use crate::answer::Answer;
use serde_json::json;

/// `POST /projects/:id/ci/lint`: returns the response set by the test, or reports the file as valid.
pub(super) fn check(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    let who = call.who(&["api"])?;
    let project = call.seen_project(id, &who)?;
    if who.role() < Some(Role::Developer) {
        return Err(Answer::forbidden());
    }
    let body = call.request.json();
    let Some(content) = body["content"].as_str() else {
        return Err(Answer::error(400, "content is missing"));
    };
    let fine = || {
        json!({
            "valid": true, "errors": [], "warnings": [], "includes": [], "merged_yaml": content,
        })
    };
    let answer = project.lint.clone().unwrap_or_else(fine);
    Ok(Answer::json(&answer))
}
