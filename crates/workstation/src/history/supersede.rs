//! Canceling older runs of the same ref.

use super::control::{ControlReply, ControlRequest};
use super::notices::Notices;
use super::project_runs::Runs;
use super::record::RunSituation;
use super::run::Run;
use std::time::Duration;
use tokio::time::timeout;

/// How long an older run may take to reply, so that one that hangs delays nothing.
const DEADLINE: Duration = Duration::from_secs(5);

/// The source of merge request pipelines.
const MERGE_REQUEST: &str = "merge_request_event";

/// Reports this run to the older running runs of the same ref and another commit. They decide themselves what
/// they cancel.
pub(crate) async fn supersede_older_runs(
    runs: &Runs,
    id: u64,
    situation: &RunSituation,
    notices: &Notices,
) {
    let running = runs.running_before(id);
    for older in running
        .iter()
        .filter(|it| is_superseded(&it.record().situation, situation))
    {
        supersede(older, id, situation, notices).await;
    }
}

async fn supersede(older: &Run, id: u64, situation: &RunSituation, notices: &Notices) {
    let request = ControlRequest::Superseded {
        by: id,
        sha: situation.sha.clone(),
    };
    let control = older.control();
    let reply = timeout(DEADLINE, control.send(&request)).await;
    let (number, reference) = (older.id(), &situation.reference);
    match reply {
        Ok(Ok(ControlReply::Done)) => notices.show(&format!(
            "run {number} is for an older commit of {reference}, and is canceled"
        )),
        Ok(Ok(ControlReply::Canceling { jobs })) => notices.show(&format!(
            "run {number} is for an older commit of {reference}, and cancels {}",
            jobs.join(", ")
        )),
        // It has ended meanwhile, or cancels nothing.
        _ => {}
    }
}

/// Returns whether a newer run makes an older one superfluous.
fn is_superseded(older: &RunSituation, newer: &RunSituation) -> bool {
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
    fn older_commit_of_the_same_ref_is_superseded() {
        let situation = |reference: &str, sha: &str, source: &str| RunSituation {
            reference: reference.to_owned(),
            sha: sha.to_owned(),
            source: source.to_owned(),
            is_tag: false,
        };
        let newer = situation("main", "2", "push");
        let check = |older: RunSituation, expect| {
            assert_eq!(is_superseded(&older, &newer), expect, "{older:?}");
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
        assert!(!is_superseded(
            &situation("", "1", "push"),
            &situation("", "2", "push")
        ));
    }
}
