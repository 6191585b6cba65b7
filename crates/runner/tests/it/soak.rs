//! Many jobs, and a server with a fault in every few of them.

use crate::bench::{Bench, job};
use executor_core::BuildStage;
use executor_testkit::{Directive, ScriptedProvider};
use gitlab_testkit::{DropMoment, Endpoint, JobServerState, Rule};
use std::time::Duration;

/// How long all jobs may take.
const LONG: Duration = Duration::from_mins(20);

/// The number of jobs; the whole proof takes 5,000.
fn jobs() -> usize {
    let number = std::env::var("RUNWRIGHT_TEST_SOAK").ok();
    number.map_or(1_000, |it| it.parse().unwrap())
}

/// Returns the fault of a job, if it has one.
fn fault(number: usize, id: u64) -> Option<Rule> {
    let on = |endpoint| Rule::on(endpoint).job(id).once();
    Some(match number % 40 {
        1 => on(Endpoint::UpdateFinal).status(502),
        5 => on(Endpoint::UpdateFinal).cut(DropMoment::Before),
        9 => on(Endpoint::UpdateFinal).cut(DropMoment::After),
        13 => on(Endpoint::UpdateFinal).status(202),
        17 => on(Endpoint::UpdateFinal)
            .status(429)
            .header("Retry-After", "1"),
        21 => on(Endpoint::Trace).status(500),
        25 => on(Endpoint::Trace).cut(DropMoment::Before),
        29 => on(Endpoint::Trace).cut(DropMoment::After),
        33 => on(Endpoint::UpdateRunning).status(503),
        37 => on(Endpoint::UpdateRunning).cut(DropMoment::After),
        _ => return None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_jobs_ends_once_with_its_log_whatever_the_server_does() {
    let provider = ScriptedProvider::new();
    let prints = Directive::succeed().stdout("a line of the job\n");
    provider.on(BuildStage::script(), prints);
    let mut bench = Bench::new();
    bench.provider = Some(provider.shared());
    bench.settings.concurrent = 10;
    bench.settings.runners[0].request_concurrency = 10;
    bench.server.hold(Duration::from_secs(2));
    // Of a job whose answer was cut, the runner knows nothing.
    bench.server.requeue_unacknowledged(Duration::from_secs(10));
    for lost in [50, 90] {
        let cut = Rule::on(Endpoint::Request).nth(lost..=lost);
        bench.server.rule(cut.cut(DropMoment::After));
    }
    bench
        .server
        .rule(Rule::on(Endpoint::Request).nth(70..=71).status(503));
    let mut ids = Vec::new();
    for number in 0..jobs() {
        let payload = job(&["true"]);
        let id = payload["id"].as_u64().unwrap();
        if let Some(rule) = fault(number, id) {
            bench.server.rule(rule);
        }
        ids.push(bench.server.queue(payload));
    }
    let runner = bench.start();
    let all_ended = |it: &JobServerState| ids.iter().rev().all(|id| it.final_update(*id).is_some());
    // A job whose answer was cut is queued again after all others.
    let ended = bench.server.wait_until_async(LONG, all_ended).await;
    assert!(ended, "all jobs have an end");
    runner.finish().await;
    for &id in &ids {
        assert_eq!(bench.server.final_update(id).unwrap()["state"], "success");
        let log = bench.log(id);
        assert_eq!(log.matches("a line of the job").count(), 1, "{log}");
        assert!(log.contains("Job succeeded"), "{log}");
    }
    assert_eq!(bench.left(), Vec::<String>::new());
    assert_eq!(provider.counts().create, ids.len());
    provider.assert_obeyed();
    let mut violations = bench.server.violations();
    // The answers to two of the requests were cut.
    violations.retain(|it| !it.contains("handed out"));
    assert_eq!(violations, Vec::<String>::new());
}
