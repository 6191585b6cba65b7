//! The turn of a worker: capacity, request, job, capacity back.

use crate::support::{Bench, job};
use executor_core::prelude::*;
use executor_core::{JobState, TurnOutcome, WorkerError};
use executor_testkit::{
    Directive, Event, Failure, JobBuilder, JobRunnerDirective, Lease, Moment, ScriptedJobRunner,
    SourceReply,
};

fn acquired_and_released(bench: &Bench) -> (usize, usize) {
    let counts = bench.provider.counts();
    (counts.acquire, counts.release)
}

#[tokio::test]
async fn capacity_is_acquired_before_a_job_is_asked_for() {
    let bench = Bench::new();
    bench.hand_out(7);
    let turn = bench
        .worker()
        .take_turn(&Cancellation::new())
        .await
        .unwrap();
    assert_eq!(turn, TurnOutcome::RanJob);
    let order = bench
        .timeline
        .lines_of(&["provider.acquire", "source.next"]);
    assert_eq!(order, ["provider.acquire", "source.next"]);
}

#[tokio::test]
async fn without_capacity_no_job_is_asked_for() {
    let bench = Bench::new();
    bench.hand_out(7);
    bench.provider.set_capacity(Some(0));
    let turn = bench
        .worker()
        .take_turn(&Cancellation::new())
        .await
        .unwrap();
    assert_eq!(turn, TurnOutcome::NoCapacity);
    bench.provider.set_capacity(None);
    bench.provider.on(
        Moment::Acquire,
        Directive::fail(Failure::permanent("pool is broken")),
    );
    let error = bench
        .worker()
        .take_turn(&Cancellation::new())
        .await
        .unwrap_err();
    assert!(matches!(error, WorkerError::Acquire(_)), "{error}");
    assert_eq!(bench.source.requests(), []);
    assert_eq!(
        bench.timeline.lines(),
        ["provider.acquire", "provider.acquire"]
    );
}

#[tokio::test]
async fn capacity_may_be_limited_and_its_data_reaches_create() {
    let bench = Bench::new();
    bench.provider.set_capacity(Some(1));
    bench.hand_out(1);
    bench.hand_out(2);
    let gate = executor_testkit::Gate::new();
    bench.provider.on(
        BuildStage::script(),
        Directive::succeed().until(gate.clone()),
    );
    let runner = Arc::new(ScriptedJobRunner::new());
    let (first, second) = (bench.worker_with(runner.clone()), bench.worker());
    let go_on = Cancellation::new();
    let (ran, ()) = tokio::join!(first.take_turn(&go_on), async {
        bench
            .timeline
            .wait_for(|event| matches!(event, Event::Run { .. }))
            .await;
        assert_eq!(
            second.take_turn(&go_on).await.unwrap(),
            TurnOutcome::NoCapacity
        );
        gate.open();
    });
    assert_eq!(ran.unwrap(), TurnOutcome::RanJob);
    assert_eq!(bench.source.requests().len(), 1);
    assert_eq!(
        runner.contexts()[0].data.get::<Lease>(),
        Some(&Lease { number: 1 })
    );
    // The double would complain about an executor created without that lease.
    bench.provider.assert_obeyed();
}

#[tokio::test]
async fn jobs_at_the_same_time_have_numbers_of_their_own_and_later_ones_have_them_again() {
    let bench = Bench::new();
    for id in 1..=4 {
        bench.hand_out(id);
    }
    let gate = executor_testkit::Gate::new();
    let hold = Directive::succeed().until(gate.clone()).times(1);
    bench.provider.on(BuildStage::script(), hold);
    let runner = Arc::new(ScriptedJobRunner::new());
    let first = bench.worker_with(runner.clone());
    let second = first.clone();
    let go_on = Cancellation::new();
    let (ran, ()) = tokio::join!(first.take_turn(&go_on), async {
        bench
            .timeline
            .wait_for(|event| matches!(event, Event::Run { .. }))
            .await;
        assert_eq!(second.take_turn(&go_on).await.unwrap(), TurnOutcome::RanJob);
        gate.open();
    });
    assert_eq!(ran.unwrap(), TurnOutcome::RanJob);
    for worker in [&second, &first] {
        assert_eq!(worker.take_turn(&go_on).await.unwrap(), TurnOutcome::RanJob);
    }
    let contexts = runner.contexts();
    let numbers = contexts.iter().map(|context| {
        let slot = context.slot;
        (slot.concurrent_id, slot.concurrent_project_id)
    });
    let numbers: Vec<_> = numbers.collect();
    assert_eq!(numbers, [(0, 0), (1, 1), (0, 0), (0, 0)]);
}

#[tokio::test]
async fn features_are_asked_anew_for_every_request() {
    let bench = Bench::new();
    let worker = bench.worker();
    for variables in [false, true, false] {
        bench.provider.set_features(FeaturesInfo {
            variables,
            ..FeaturesInfo::default()
        });
        worker.take_turn(&Cancellation::new()).await.unwrap();
    }
    let reported: Vec<_> = bench
        .source
        .requests()
        .iter()
        .map(|request| request.features.variables)
        .collect();
    assert_eq!(reported, [false, true, false]);
    assert_eq!(bench.provider.counts().features, 3);
}

#[tokio::test]
async fn configuration_and_shell_are_asked_once_for_a_request() {
    // R-EXEC-32
    // R-EXEC-33
    let bench = Bench::new();
    bench.hand_out(7);
    let worker = bench.worker();
    for requests in 1..=2 {
        worker.take_turn(&Cancellation::new()).await.unwrap();
        let counts = bench.provider.counts();
        assert_eq!(
            (counts.config_info, counts.default_shell),
            (requests, requests)
        );
        assert_eq!(bench.source.requests().len(), requests);
    }
}

#[tokio::test]
async fn an_executor_is_created_when_a_job_has_come() {
    // R-EXEC-34
    let bench = Bench::new();
    bench.source.reply(SourceReply::None);
    bench.hand_out(7);
    let worker = bench.worker();
    assert_eq!(
        worker.take_turn(&Cancellation::new()).await.unwrap(),
        TurnOutcome::NoJob
    );
    assert_eq!(bench.provider.counts().create, 0);
    assert_eq!(
        worker.take_turn(&Cancellation::new()).await.unwrap(),
        TurnOutcome::RanJob
    );
    let order = bench
        .timeline
        .lines_of(&["source.", "provider.create", "observer.started"]);
    assert_eq!(
        order,
        [
            "source.next",
            "source.next",
            "observer.started",
            "provider.create(1)",
            "source.finished(7, success)"
        ]
    );
}

#[tokio::test]
async fn capacity_comes_back_after_the_job_is_fully_done() {
    // R-EXEC-35
    let bench = Bench::new();
    bench.hand_out(7);
    bench
        .worker()
        .take_turn(&Cancellation::new())
        .await
        .unwrap();
    let lines = bench.timeline.lines();
    let tail = &lines[lines.len() - 3..];
    assert_eq!(
        tail,
        [
            "executor(1).cleanup",
            "source.finished(7, success)",
            "provider.release"
        ]
    );
    bench.provider.assert_obeyed();
}

#[tokio::test]
async fn capacity_comes_back_when_no_job_came() {
    // R-EXEC-35
    let bench = Bench::new();
    bench.source.reply(SourceReply::None);
    bench.source.reply(SourceReply::Error("503".to_owned()));
    bench.source.reply(SourceReply::Wait);
    let worker = bench.worker();
    assert_eq!(
        worker.take_turn(&Cancellation::new()).await.unwrap(),
        TurnOutcome::NoJob
    );
    let error = worker.take_turn(&Cancellation::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::Source(_)), "{error}");
    let cancellation = Cancellation::new();
    let (turn, ()) = tokio::join!(worker.take_turn(&cancellation), async {
        bench
            .timeline
            .wait_for(|_| bench.source.requests().len() == 3)
            .await;
        cancellation.cancel(CancelCause::Shutdown);
    });
    assert_eq!(turn.unwrap(), TurnOutcome::Closed);
    assert_eq!(
        worker.take_turn(&Cancellation::new()).await.unwrap(),
        TurnOutcome::Closed
    );
    assert_eq!(acquired_and_released(&bench), (4, 4));
    bench.provider.assert_obeyed();
}

#[tokio::test]
async fn capacity_comes_back_after_errors_and_panics() {
    // R-EXEC-35
    let bench = Bench::new();
    let create = Directive::fail(Failure::permanent("create"));
    bench.provider.on(Moment::Create, create.times(1));
    bench.hand_out(1);
    let spoilt = [
        (2, "prepare", Moment::Prepare),
        (3, "run", BuildStage::script().into()),
        (4, "cleanup", Moment::Cleanup),
    ];
    for (id, name, moment) in spoilt {
        let failing = Directive::fail(Failure::temporary(name)).for_job(name);
        bench.provider.on(moment, failing);
        let job = JobBuilder::new(id).name(name).script(["true"]);
        bench.source.hand_out(job.build());
    }
    for id in [5, 6] {
        bench.source.hand_out(job(id));
    }
    let runner = ScriptedJobRunner::new()
        .then(JobRunnerDirective::Drive)
        .then(JobRunnerDirective::Drive)
        .then(JobRunnerDirective::Drive)
        .then(JobRunnerDirective::Drive)
        .then(JobRunnerDirective::Fail(Failure::panic(
            "the job runner is broken",
        )))
        .then(JobRunnerDirective::Fail(Failure::temporary("no disk")));
    let worker = bench.worker_with(Arc::new(runner));
    worker.run(&Cancellation::new()).await.unwrap();

    let outcomes = bench.source.outcomes();
    assert_eq!(
        outcomes.len(),
        6,
        "every job that was handed out is reported"
    );
    assert!(
        outcomes
            .iter()
            .all(|(_, outcome)| outcome.state == JobState::Failed)
    );
    let panic = outcomes[4].1.error.as_ref().unwrap();
    assert!(panic.to_string().contains("panicked"), "{panic}");
    // The seventh turn found the source closed.
    assert_eq!(acquired_and_released(&bench), (7, 7));
    bench.provider.assert_obeyed();
}

#[tokio::test]
async fn a_request_that_cannot_be_built_gives_the_capacity_back() {
    // R-EXEC-35
    let bench = Bench::new();
    bench.provider.refuse_to_tell_features("no answer");
    let error = bench.worker().run(&Cancellation::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::Describe(_)), "{error}");
    assert_eq!(acquired_and_released(&bench), (1, 1));
    assert_eq!(bench.source.requests(), []);
}
