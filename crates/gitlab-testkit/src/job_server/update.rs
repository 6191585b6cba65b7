//! Updates of a job: `PUT jobs/:id`.

use super::shared::Shared;
use super::{Call, Endpoint, JobServerState};
use crate::answer::Answer;
use serde_json::json;
use std::time::Instant;

/// Answers an update, running or final.
pub(crate) fn answer(shared: &Shared, call: &Call) -> Answer {
    let answer = shared.change(|state| update(state, call).unwrap_or_else(|refusal| refusal));
    if answer.status == 200 && call.endpoint == Endpoint::UpdateFinal {
        // A job's token is valid while the job runs.
        let token = call.token().unwrap_or_default();
        let mut world = shared.world.state();
        world.tokens.retain(|known| known.value != token);
    }
    answer
}

fn update(state: &mut JobServerState, call: &Call) -> Result<Answer, Answer> {
    let job = state.running_job(call)?;
    match call.field("state").as_str() {
        Some("running") => job.is_acknowledged = true,
        // The runner still prepares the environment.
        Some("pending") => job.waiting_since = Some(Instant::now()),
        Some("success" | "failed") => job.final_update.clone_from(&call.json),
        _ => return Err(Answer::error(400, "state does not have a valid value")),
    }
    let id = call.job.unwrap_or_default();
    Ok(state.with_update_headers(Answer::json(&json!(200)), id))
}
