//! The trace of a job: `PATCH jobs/:id/trace`.

use super::{Call, JobServerState};
use crate::answer::Answer;

/// Appends a piece to a trace, if it begins where the stored trace ends.
pub(crate) fn append(state: &mut JobServerState, call: &Call) -> Result<Answer, Answer> {
    let job = state.running_job(call)?;
    let range = call.header("content-range");
    let Some(range) = range else {
        return Err(Answer::new(
            400,
            "text/plain",
            "400 Missing header Content-Range",
        ));
    };
    let first = range
        .split('-')
        .next()
        .and_then(|it| it.trim().parse().ok());
    let first: usize = first.ok_or_else(|| Answer::message(400, "400 Bad request"))?;
    let body = &call.request.body;
    if first == job.trace.len() {
        job.trace.extend_from_slice(body);
    }
    let stored = job.trace.len();
    // A piece that is stored already is accepted as well; the end of the announced range is not trusted.
    let status = if stored == first.saturating_add(body.len()) {
        202
    } else {
        416
    };
    let id = call.job.unwrap_or_default();
    state.check_watches(id);
    let answer = Answer::new(status, "text/plain", "").header("range", format!("0-{stored}"));
    Ok(state.with_update_headers(answer, id))
}
