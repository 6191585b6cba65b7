use super::call::{Call, READ};
use crate::answer::Answer;
use crate::who::Who;
use crate::{Role, Variable, paging};
use serde_json::Value;

/// `GET /projects/:id/variables`
pub(super) fn of_project(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    let who = call.somebody(&READ)?;
    let project = call.seen_project(id, &who)?;
    maintainer(&who)?;
    Ok(list(call, &project.variables, Variable::json))
}

/// `GET /groups/:id/variables`
pub(super) fn of_group(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    let who = call.somebody(&READ)?;
    let id = id.to_lowercase();
    let is_seen = matches!(&who, Who::Known(token) if token.sees(&id));
    let state = call.world.state();
    let below = format!("{id}/");
    let mut projects = state.projects.iter();
    let has_project = projects.any(|it| it.path.to_lowercase().starts_with(&below));
    let variables = state.groups.get(&id).cloned();
    drop(state);
    if !is_seen || (variables.is_none() && !has_project) {
        return Err(Answer::not_found("Group"));
    }
    maintainer(&who)?;
    Ok(list(call, &variables.unwrap_or_default(), Variable::json))
}

/// `GET /admin/ci/variables`
pub(super) fn of_instance(call: &Call<'_>) -> Result<Answer, Answer> {
    match call.somebody(&READ)? {
        Who::Known(token) if token.is_admin => {}
        _ => return Err(Answer::forbidden()),
    }
    let variables = call.world.state().variables.clone();
    Ok(list(call, &variables, Variable::instance_json))
}

fn maintainer(who: &Who) -> Result<(), Answer> {
    if who.role() >= Some(Role::Maintainer) {
        return Ok(());
    }
    Err(Answer::forbidden())
}

fn list(call: &Call<'_>, variables: &[Variable], json: fn(&Variable) -> Value) -> Answer {
    let all: Vec<Value> = variables.iter().map(json).collect();
    paging::numbered(call.request, &call.address(), &all)
}
