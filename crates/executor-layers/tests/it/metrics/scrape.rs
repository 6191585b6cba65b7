//! What a scrape shows, and how little a job can do to the labels.

use super::bench::{Bench, RUNNER, RUNNER_BEFORE_STAGE, report};
use executor_core::prelude::*;
use executor_core::{ActiveJobs, ErrorPolicy, JobSlots, Worker};
use executor_layers::{Metrics, MetricsError, MetricsLayer, MetricsOptions, StageDurations};
use executor_testkit::{
    Directive, Gate, JobBuilder, RecordingJobSource, ScriptedJobRunner, ScriptedProvider,
};
use std::sync::atomic::Ordering;

#[tokio::test]
async fn a_scrape_while_a_job_runs_shows_its_stage() {
    // R-EXEC-09
    // R-EXEC-27
    let active = ActiveJobs::new();
    let bench = Bench::new(MetricsOptions {
        active: active.clone(),
        ..MetricsOptions::default()
    });
    let gate = Gate::new();
    bench
        .scripted
        .on(BuildStage::script(), Directive::exit(0).until(gate.clone()));
    let worker = worker(&bench, &active, 1);
    let go_on = Cancellation::new();
    let turns = worker.run(&go_on);
    tokio::pin!(turns);
    let busy = async {
        while bench.scripted.stages().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = &mut turns => panic!("the script waits for the gate: {ended:?}"),
        () = busy => {}
    }
    let running = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with("gitlab_runner_jobs{"));
        line.map(str::to_owned)
    };
    let line = running(&bench.scrape()).unwrap();
    for label in [
        r#"executor_stage="run""#,
        r#"state="running""#,
        RUNNER_BEFORE_STAGE,
    ] {
        assert!(line.contains(label), "{line}");
    }
    assert!(line.ends_with(" 1"), "{line}");

    gate.open();
    turns.await.unwrap();
    assert_eq!(running(&bench.scrape()), None);
    bench.scripted.assert_obeyed();
}

#[tokio::test(flavor = "multi_thread")]
async fn scrapes_at_any_moment_show_stages_there_are() {
    // R-EXEC-09
    // R-EXEC-27
    const JOBS: u64 = 300;
    let active = ActiveJobs::new();
    let bench = Bench::new(MetricsOptions {
        active: active.clone(),
        ..MetricsOptions::default()
    });
    let worker = worker(&bench, &active, JOBS);
    let over = std::sync::atomic::AtomicBool::new(false);
    let ended = || over.load(Ordering::Relaxed);
    let scrapes = std::thread::scope(|scope| {
        let scrapers = [(); 2].map(|()| scope.spawn(|| scrape_until(&bench, ended)));
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let mut workers = tokio::task::JoinSet::new();
                for worker in vec![worker; 4] {
                    workers.spawn(async move { worker.run(&Cancellation::new()).await });
                }
                for turns in workers.join_all().await {
                    turns.unwrap();
                }
            });
        });
        over.store(true, Ordering::Relaxed);
        scrapers.map(|scraper| scraper.join().unwrap())
    });
    assert!(scrapes.iter().all(|count| *count > 0), "{scrapes:?}");
    bench.expect(&format!("gitlab_runner_jobs_total{{{RUNNER}}}"), 300.0);
    assert!(!bench.scrape().contains("gitlab_runner_jobs{"));
    bench.scripted.assert_obeyed();
}

/// Scrapes again and again, and returns how often.
fn scrape_until(bench: &Bench, ended: impl Fn() -> bool) -> u32 {
    let stages = ["created", "prepare", "run", "finish", "cleanup"];
    let mut count = 0;
    while !ended() || count == 0 {
        let text = bench.scrape();
        let jobs = text
            .lines()
            .filter(|line| line.starts_with("gitlab_runner_jobs{"));
        let mut running = 0;
        for line in jobs {
            let known = stages.map(|stage| format!(r#"executor_stage="{stage}""#));
            assert!(known.iter().any(|stage| line.contains(stage)), "{line}");
            let (_, number) = line.rsplit_once(' ').unwrap();
            running += number.parse::<u32>().unwrap();
        }
        assert!(running <= 4, "there are four workers:\n{text}");
        count += 1;
    }
    count
}

/// Returns a worker of the bench's runner, whose source has so many jobs.
fn worker(bench: &Bench, active: &ActiveJobs, jobs: u64) -> Worker {
    let source = RecordingJobSource::new();
    for id in 1..=jobs {
        source.hand_out(JobBuilder::new(id).script(["make"]).build());
    }
    Worker {
        config: Arc::new(bench.config.clone()),
        provider: Arc::clone(&bench.provider),
        source: Arc::new(source),
        runner: Arc::new(ScriptedJobRunner::new()),
        active: active.clone(),
        slots: JobSlots::new(),
        pause: Worker::DEFAULT_PAUSE,
        on_error: ErrorPolicy::Fail,
    }
}

#[tokio::test]
async fn a_job_cannot_make_labels_grow() {
    let active = ActiveJobs::new();
    let bench = Bench::new(MetricsOptions {
        active: active.clone(),
        stage_durations: StageDurations::Export,
        ..MetricsOptions::default()
    });
    let mut guards = Vec::new();
    let mut outcome = JobOutcome::success();
    for number in 0..500 {
        let name = BuildStage::Step(format!("{number}"));
        let guard = active.enter(executor_core::JobId(number), &bench.config);
        guard.set_stage(&name.name());
        let cell = StageCell::new();
        cell.set(ExecutorStage::from_name(format!("driver_{number}")));
        guard.follow(cell);
        guards.push(guard);
        outcome.stages.push(report(name, 1));
    }
    bench.job(&[], &outcome).await;
    let text = bench.scrape();
    let series = |name: &str| text.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!(series("gitlab_runner_jobs{"), 65);
    assert_eq!(series("gitlab_runner_job_stage_duration_seconds_count"), 1);
}

#[test]
fn one_registry_has_one_set_of_metrics() {
    let metrics = Metrics::new(MetricsOptions::default()).unwrap();
    let again = Metrics::new(MetricsOptions {
        registry: metrics.registry().clone(),
        ..MetricsOptions::default()
    });
    assert!(matches!(again, Err(MetricsError::Register(_))), "{again:?}");
    // Clones and layers share what is there.
    let _layers = [
        MetricsLayer::new(&metrics),
        MetricsLayer::new(&metrics.clone()),
    ];
    assert!(metrics.scrape().is_ok());
}

#[tokio::test]
async fn two_providers_are_counted_together() {
    let bench = Bench::new(MetricsOptions::default());
    let other = MetricsLayer::new(&bench.metrics).layer(ScriptedProvider::new().shared());
    let go_on = Cancellation::new();
    let data = other.acquire(&bench.config, &go_on).await.unwrap();
    drop(other.create(&data).unwrap());
    other.release(&bench.config, data).await;
    bench
        .job(&[BuildStage::script()], &JobOutcome::success())
        .await;
    bench.expect(&format!("gitlab_runner_jobs_total{{{RUNNER}}}"), 2.0);
}

#[test]
fn a_registry_may_hold_more_than_jobs() {
    let metrics = Metrics::new(MetricsOptions::default()).unwrap();
    let pulls = prometheus::IntCounter::new("pulls_total", "Images.").unwrap();
    metrics
        .registry()
        .register(Box::new(pulls.clone()))
        .unwrap();
    pulls.inc();
    assert!(metrics.scrape().unwrap().contains("pulls_total 1\n"));
}
