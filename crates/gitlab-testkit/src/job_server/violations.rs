//! Checks of the protocol over all recorded calls.

use super::job::Job;
use super::{Call, Endpoint, JobServerState};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns all violations, job by job.
pub(crate) fn all(state: &JobServerState) -> Vec<String> {
    let mut calls: BTreeMap<u64, Calls<'_>> = BTreeMap::new();
    for call in &state.calls {
        let Some(id) = call.job_id() else { continue };
        let of_job = calls.entry(id).or_default();
        match (call.job, &call.answer) {
            (Some(_), _) => of_job.about.push(call),
            (None, Some(answer)) => of_job.starts.push(answer.at),
            (None, None) => {}
        }
    }
    let mut found = Vec::new();
    for (id, job) in &state.jobs {
        let runs = calls.remove(id).unwrap_or_default().runs();
        let mut problems: Vec<String> = runs.iter().flat_map(|calls| run(calls)).collect();
        let last = runs.last().map_or(&[][..], Vec::as_slice);
        problems.extend(missing_final(job, last));
        if job.handed_out > job.queued {
            let problem = format!("queued {} times, handed out {}", job.queued, job.handed_out);
            problems.push(problem);
        }
        found.extend(problems.into_iter().map(|it| format!("job {id}: {it}")));
    }
    found
}

/// The calls of one job.
#[derive(Default)]
struct Calls<'a> {
    /// When it was handed out.
    starts: Vec<Duration>,
    about: Vec<&'a Call>,
}

impl<'a> Calls<'a> {
    /// Returns the calls about the job, one list for each time that it was handed out.
    fn runs(mut self) -> Vec<Vec<&'a Call>> {
        self.starts.sort();
        let mut runs = vec![Vec::new(); self.starts.len().max(1)];
        for call in self.about {
            let begun = self
                .starts
                .iter()
                .filter(|start| **start <= call.at)
                .count();
            runs[begun.saturating_sub(1)].push(call);
        }
        runs
    }
}

fn run(calls: &[&Call]) -> Vec<String> {
    let mut problems = pieces(calls);
    problems.extend(late_calls(calls));
    problems.extend(final_states(calls));
    problems.extend(output(calls));
    problems
}

/// Checks that every piece of the trace begins where the stored trace ends, or where the server asked for it.
fn pieces(calls: &[&Call]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut allowed: Vec<u64> = Vec::new();
    for call in calls {
        if call.endpoint == Endpoint::UpdateFinal && call.status() == Some(412) {
            allowed.push(0);
        }
        if call.endpoint != Endpoint::Trace {
            continue;
        }
        let Some(range) = call.range_check else {
            let header = call.header("content-range").unwrap_or("none");
            problems.push(format!(
                "trace call with an invalid Content-Range: {header}"
            ));
            continue;
        };
        if !range.last_is_first_plus_length_minus_1 {
            let header = call.header("content-range").unwrap_or_default();
            let length = call.request.body.len();
            problems.push(format!("Content-Range {header} with {length} bytes"));
        }
        if !range.first_is_stored_size && !allowed.contains(&range.first) {
            let (first, stored) = (range.first, range.stored);
            problems.push(format!(
                "a piece begins at {first}, but {stored} bytes are stored"
            ));
        }
        allowed = restarts(call, range.first);
    }
    problems
}

/// Returns where the piece after this call may begin, besides the end of the stored trace.
fn restarts(call: &Call, first: u64) -> Vec<u64> {
    let answer = call.answer.as_ref();
    let range = answer.and_then(|answer| answer.header("range"));
    let asked = range.and_then(|range| range.split_once('-')?.1.parse().ok());
    let is_accepted = call.status() == Some(202) && !is_abort(call);
    // A piece whose answer was lost, or told the runner to stop, counts as unsent.
    let unsent = (!is_accepted).then_some(first);
    let asked = asked.filter(|_| call.status() == Some(416));
    asked.into_iter().chain(unsent).collect()
}

fn is_abort(call: &Call) -> bool {
    let answer = call.answer.as_ref();
    let status = answer.and_then(|answer| answer.header("job-status"));
    matches!(status, Some("canceled" | "failed"))
}

/// Checks that no piece of the trace arrives after an accepted final update.
fn late_calls(calls: &[&Call]) -> Vec<String> {
    let done = calls.iter().position(|call| is_accepted_final(call));
    let late = done.map_or(&[][..], |done| &calls[done..]);
    let late = late.iter().filter(|call| call.endpoint == Endpoint::Trace);
    late.map(|call| {
        format!(
            "trace call at {:?}, after the accepted final update",
            call.at
        )
    })
    .collect()
}

/// Checks that a job has one final state.
fn final_states(calls: &[&Call]) -> Vec<String> {
    let finals = calls
        .iter()
        .filter(|call| call.endpoint == Endpoint::UpdateFinal);
    let mut states: Vec<&Value> = finals.map(|call| call.field("state")).collect();
    states.dedup();
    let accepted = calls.iter().filter(|call| is_accepted_final(call)).count();
    let mut problems = Vec::new();
    if states.len() > 1 {
        problems.push(format!("several final states: {states:?}"));
    }
    if accepted > 1 {
        problems.push(format!("{accepted} final updates were accepted"));
    }
    problems
}

/// Checks that an acknowledged job has a final update, unless the acknowledgement was answered with an abort.
fn missing_final(job: &Job, calls: &[&Call]) -> Option<String> {
    let has_final = calls
        .iter()
        .any(|call| call.endpoint == Endpoint::UpdateFinal);
    let runs = calls.iter().any(|call| {
        let is_running = call.endpoint == Endpoint::UpdateRunning;
        is_running && call.status() == Some(200) && !is_abort(call)
    });
    let is_missing = job.is_acknowledged && runs && !has_final;
    is_missing.then(|| "acknowledged, but without a final update".to_owned())
}

/// Checks that the accepted final update describes the stored trace.
fn output(calls: &[&Call]) -> Vec<String> {
    let mut problems = Vec::new();
    for call in calls.iter().filter(|call| is_accepted_final(call)) {
        // After an abort the runner may have written more than it could send.
        let Some(check) = call.trace_check.filter(|_| !is_abort(call)) else {
            continue;
        };
        let output = call.field("output");
        // A runner may omit the size of an empty trace.
        let is_empty = output["bytesize"].is_null() && check.checksum_equals_crc32_of_stored;
        if !check.bytesize_equals_stored && !is_empty {
            let size = &output["bytesize"];
            problems.push(format!(
                "the final update has bytesize {size}, which is not the stored size"
            ));
        }
        if !check.checksum_equals_crc32_of_stored {
            let checksum = &output["checksum"];
            problems.push(format!(
                "the final update has checksum {checksum}, which is not that of the stored trace"
            ));
        }
    }
    problems
}

fn is_accepted_final(call: &Call) -> bool {
    call.endpoint == Endpoint::UpdateFinal && call.status() == Some(200)
}
