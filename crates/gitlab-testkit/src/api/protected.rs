use super::call::{Call, READ};
use crate::answer::Answer;
use crate::{Role, paging};
use serde_json::{Value, json};

/// `GET /projects/:id/protected_branches`
pub(super) fn branches(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    list(call, id)
}

/// `GET /projects/:id/protected_tags`
pub(super) fn tags(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    list(call, id)
}

/// Lists the protected names; this server protects a name both as a branch and as a tag.
fn list(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    let who = call.somebody(&READ)?;
    let project = call.seen_project(id, &who)?;
    if who.role() < Some(Role::Maintainer) {
        return Err(Answer::forbidden());
    }
    let names = project.protected.iter();
    let all: Vec<Value> = names.map(|name| json!({"id": 1, "name": name})).collect();
    Ok(paging::numbered(call.request, &call.address(), &all))
}
