//! Handing out jobs: `POST jobs/request`.

use super::shared::Shared;
use super::{Call, JobServerState};
use crate::answer::Answer;
use crate::token::Token;
use crate::world::World;
use std::time::Instant;
use tokio::time;

/// Answers a job request, which waits for a job if the runner has the latest state of the queue.
pub(crate) async fn answer(shared: &Shared, call: &Call) -> Answer {
    let Some(token) = call.runner_token() else {
        return Answer::forbidden();
    };
    let arrived = Instant::now();
    let mut changes = shared.changes();
    loop {
        changes.borrow_and_update();
        let hold = match shared.change_quietly(|state| hand_out(state, shared, &token)) {
            Ok(answer) => return answer,
            Err(last_update) => {
                let is_current = call.field("last_update").as_str() == Some(&last_update);
                let hold = shared.read().hold.saturating_sub(arrived.elapsed());
                if !is_current || hold.is_zero() {
                    return no_job(&last_update);
                }
                hold
            }
        };
        // After the time is up, or if the server's state changed, the queue is looked at again.
        let _ = time::timeout(hold, changes.changed()).await;
    }
}

/// Takes a job from the queue; the error is the state of the runner's queue when there is none.
fn hand_out(state: &mut JobServerState, shared: &Shared, token: &str) -> Result<Answer, String> {
    if !state.runners.knows(token) {
        return Ok(Answer::forbidden());
    }
    let fits = |id: &u64| {
        let job = state.jobs.get(id);
        job.is_some_and(|job| job.runner.as_deref().is_none_or(|runner| runner == token))
    };
    let Some(index) = state.queue.iter().position(fits) else {
        return Err(state.runners.last_update(token));
    };
    let id = state.queue.remove(index).expect("it has a position");
    state.unacknowledged.insert(id);
    let job = state.jobs.get_mut(&id).expect("a queued job is known");
    job.handed_out += 1;
    job.waiting_since = Some(Instant::now());
    admit(&shared.world, &job.token);
    let mut answer = Answer::json(&job.payload);
    answer.status = 201;
    Ok(answer)
}

fn no_job(last_update: &str) -> Answer {
    let answer = Answer {
        status: 204,
        headers: Vec::new(),
        body: Vec::new(),
    };
    answer.header("x-gitlab-last-update", last_update)
}

/// Lets a job's token read the repositories.
fn admit(world: &World, token: &str) {
    let mut state = world.state();
    state.tokens.retain(|known| known.value != token);
    state.tokens.push(Token::job(token));
}
