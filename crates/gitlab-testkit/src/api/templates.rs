use super::call::{Call, READ};
use crate::answer::Answer;
use serde_json::json;

/// `GET /templates/gitlab_ci_ymls/:key`
pub(super) fn one(call: &Call<'_>, key: &str) -> Result<Answer, Answer> {
    call.who(&READ)?;
    let known = call.world.state().templates.get(key).cloned();
    let content = known.ok_or_else(|| Answer::not_found("Gitlab Ci Yml"))?;
    Ok(Answer::json(&json!({"name": key, "content": content})))
}
