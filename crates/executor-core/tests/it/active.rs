//! A scrape at any moment.

use crate::support::Bench;
use executor_core::prelude::*;
use executor_core::{ActiveJobs, JobId, JobState, RunnerConfig};
use executor_testkit::{Directive, Gate};

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_sees_the_stage_while_run_is_busy() {
    // R-EXEC-27
    // R-EXEC-09
    let bench = Bench::new();
    let gate = Gate::new();
    let held = Directive::succeed().until(gate.clone());
    bench.provider.on(BuildStage::script(), held);
    bench.hand_out(7);
    let mut scrapers = tokio::task::JoinSet::new();
    let stop = Gate::new();
    for _ in 0..4 {
        // Scrapes that collide with each other and with every change of a stage.
        let (active, stop) = (bench.active.clone(), stop.clone());
        scrapers.spawn(async move {
            let mut seen = Vec::new();
            loop {
                seen.extend(active.scrape().into_iter().map(|job| job.executor_stage));
                tokio::select! {
                    biased;
                    () = stop.passed() => return seen,
                    () = tokio::task::yield_now() => {}
                }
                seen.dedup();
            }
        });
    }
    let worker = bench.worker();
    let go_on = Cancellation::new();
    let (turn, ()) = tokio::join!(worker.take_turn(&go_on), async {
        bench
            .timeline
            .wait_for_line("executor(1).run(step_script)")
            .await;
        let jobs = bench.active.scrape();
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].id, jobs[0].state), (JobId(7), JobState::Running));
        assert_eq!(jobs[0].executor_stage, ExecutorStage::RUN);
        gate.open();
    });
    turn.unwrap();
    assert_eq!(bench.active.scrape(), [], "a job that ended is not listed");
    stop.open();
    let life = ["created", "prepare", "run", "finish", "cleanup"];
    for seen in scrapers.join_all().await {
        let order: Vec<_> = seen
            .iter()
            .map(|stage| {
                life.iter()
                    .position(|name| *name == stage.as_str())
                    .unwrap()
            })
            .collect();
        assert!(order.is_sorted(), "a stage came back: {seen:?}");
    }
}

#[test]
fn jobs_are_listed_as_long_as_they_are_held() {
    // R-EXEC-09
    let active = ActiveJobs::new();
    let mut config = RunnerConfig::new("runner", "scripted");
    config.token = "glrt-abcdefghijkl".into();
    let first = active.enter(JobId(1), &config);
    let second = active.enter(JobId(2), &config);
    let cell = StageCell::new();
    first.follow(cell.clone());
    first.set_stage("get_sources");
    cell.set(ExecutorStage::new("docker_pulling_image"));
    let jobs = active.scrape();
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[0].runner, "runner");
    assert_eq!(jobs[0].runner_token, "abcdefghi");
    assert_eq!(jobs[0].stage, "get_sources");
    assert_eq!(jobs[0].executor_stage.as_str(), "docker_pulling_image");
    assert_eq!(jobs[1].executor_stage, ExecutorStage::CREATED);
    drop(first);
    drop(second);
    assert_eq!(active.scrape(), []);
}
