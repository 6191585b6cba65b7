//! A newer run of the same ref, and what it ends.

use super::control::{ControlReply, ControlRequest};
use super::notices::Notices;
use super::past_run::Run;
use super::project_runs::Runs;
use super::record::RunSituation;
use std::time::Duration;
use tokio::time::timeout;

/// How long an older run may take to answer: nobody should wait for one that hangs.
const DEADLINE: Duration = Duration::from_secs(5);

/// What starts the pipeline of a merge request.
const MERGE_REQUEST: &str = "merge_request_event";

/// Tells the older runs that live, of the same ref and another commit, that there is a newer one.
/// They decide themselves what that means to them.
pub(crate) async fn tell_older(runs: &Runs, id: u64, situation: &RunSituation, notices: &Notices) {
    let living = runs.living_before(id);
    for older in living
        .iter()
        .filter(|it| concerns(&it.record().situation, situation))
    {
        tell(older, id, situation, notices).await;
    }
}

async fn tell(older: &Run, id: u64, situation: &RunSituation, notices: &Notices) {
    let request = ControlRequest::Superseded {
        by: id,
        sha: situation.sha.clone(),
    };
    let control = older.control();
    let reply = timeout(DEADLINE, control.send(&request)).await;
    let (number, reference) = (older.id(), &situation.reference);
    match reply {
        Ok(Ok(ControlReply::Done)) => notices.tell(&format!(
            "run {number} is for an older commit of {reference}, and is canceled"
        )),
        Ok(Ok(ControlReply::Canceling { jobs })) => notices.tell(&format!(
            "run {number} is for an older commit of {reference}, and cancels {}",
            jobs.join(", ")
        )),
        // It has ended meanwhile, or goes on: both are as well.
        _ => {}
    }
}

/// Returns whether a run is one too many, now that there is a newer one.
fn concerns(older: &RunSituation, newer: &RunSituation) -> bool {
    let is_merge_request = |it: &RunSituation| it.source == MERGE_REQUEST;
    !older.reference.is_empty()
        && older.reference == newer.reference
        && older.is_tag == newer.is_tag
        && older.sha != newer.sha
        && is_merge_request(older) == is_merge_request(newer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_commit_of_the_same_ref_concerns() {
        let situation = |reference: &str, sha: &str, source: &str| RunSituation {
            reference: reference.to_owned(),
            sha: sha.to_owned(),
            source: source.to_owned(),
            is_tag: false,
        };
        let newer = situation("main", "2", "push");
        let check = |older: RunSituation, expect| {
            assert_eq!(concerns(&older, &newer), expect, "{older:?}");
        };
        check(situation("main", "1", "push"), true);
        check(situation("main", "1", "web"), true);
        check(situation("main", "2", "push"), false);
        check(situation("other", "1", "push"), false);
        check(situation("main", "1", MERGE_REQUEST), false);
        let tag = RunSituation {
            is_tag: true,
            ..situation("main", "1", "push")
        };
        check(tag, false);
        assert!(!concerns(
            &situation("", "1", "push"),
            &situation("", "2", "push")
        ));
    }
}
