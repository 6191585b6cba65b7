//! Runners and their tokens: `/api/v4/runners`.

use super::{Call, Endpoint, JobServerState};
use crate::answer::Answer;
use serde_json::{Value, json};

/// The id of the runner in answers.
const ID: u64 = 7;

/// Answers a call about a runner.
pub(crate) fn answer(
    state: &mut JobServerState,
    call: &Call,
    expires_at: Option<&Value>,
) -> Result<Answer, Answer> {
    let expires_at = expires_at.cloned().unwrap_or_default();
    match call.endpoint {
        Endpoint::Verify => {
            let token = known_token(state, call)?;
            let answer = json!({"id": ID, "token": token, "token_expires_at": expires_at});
            Ok(Answer::json(&answer))
        }
        Endpoint::Register => {
            // A registration token differs from the runner's own.
            call.runner_token().ok_or_else(Answer::forbidden)?;
            let token = new_token(state);
            let answer = json!({"id": ID, "token": token, "token_expires_at": expires_at});
            Ok(created(&answer))
        }
        Endpoint::Unregister => {
            let token = known_token(state, call)?;
            state.runners.revoked.insert(token);
            Ok(no_content())
        }
        Endpoint::UnregisterManager => {
            known_token(state, call)?;
            Ok(no_content())
        }
        Endpoint::ResetToken => {
            reset(state, call)?;
            let token = new_token(state);
            move_queue(state, call, &token);
            let answer = json!({"token": token, "token_expires_at": expires_at});
            Ok(created(&answer))
        }
        _ => Err(Answer::error(404, "404 Not Found")),
    }
}

/// Revokes the token that a runner resets; a user resets the token of a runner by id.
fn reset(state: &mut JobServerState, call: &Call) -> Result<(), Answer> {
    if call
        .request
        .path
        .ends_with("/runners/reset_authentication_token")
    {
        let token = known_token(state, call)?;
        state.runners.revoked.insert(token);
        return Ok(());
    }
    let token = call.header("private-token");
    token.map(|_| ()).ok_or_else(Answer::unauthorized)
}

/// Hands the jobs queued for the old token to the new one.
fn move_queue(state: &mut JobServerState, call: &Call, new: &str) {
    let old = call.runner_token();
    for job in state.jobs.values_mut() {
        if job.runner.is_some() && job.runner == old {
            job.runner = Some(new.to_owned());
        }
    }
}

fn known_token(state: &JobServerState, call: &Call) -> Result<String, Answer> {
    let token = call.runner_token();
    let token = token.filter(|token| state.runners.knows(token));
    token.ok_or_else(Answer::forbidden)
}

fn new_token(state: &mut JobServerState) -> String {
    let runners = &mut state.runners;
    runners.created += 1;
    let planned = runners.next_tokens.pop_front();
    let token = planned.unwrap_or_else(|| format!("glrt-createdToken{:04}", runners.created));
    runners.revoked.remove(&token);
    if let Some(accepted) = &mut runners.accepted {
        accepted.insert(token.clone());
    }
    token
}

fn created(body: &Value) -> Answer {
    let mut answer = Answer::json(body);
    answer.status = 201;
    answer
}

fn no_content() -> Answer {
    Answer {
        status: 204,
        headers: Vec::new(),
        body: Vec::new(),
    }
}
