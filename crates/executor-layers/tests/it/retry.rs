//! When `prepare` is tried again, and when it is not.

use crate::support::{options, prepare, warnings};
use executor_core::prelude::*;
use executor_core::{FailureReason, Retryability};
use executor_layers::RetryLayer;
use executor_testkit::{CommandBuilder, Directive, Failure, Moment, ScriptedProvider};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

fn retried(scripted: &ScriptedProvider, layers: usize) -> Box<dyn Executor> {
    let mut stack = ProviderStack::new(scripted.clone());
    for _ in 0..layers {
        stack = stack.layer(&RetryLayer::new());
    }
    stack.build().create(&ExecutorData::new()).unwrap()
}

fn fails(failure: Failure) -> ScriptedProvider {
    let scripted = ScriptedProvider::new();
    scripted.on(Moment::Prepare, Directive::fail(failure));
    scripted
}

fn prepared(scripted: &ScriptedProvider) -> usize {
    scripted.prepared().len()
}

#[tokio::test(start_paused = true)]
async fn each_try_is_a_new_executor_and_a_line_in_the_log() {
    let scripted = ScriptedProvider::new();
    let fails_twice = Directive::fail(Failure::temporary("connect")).times(2);
    scripted.on(Moment::Prepare, fails_twice);
    let mut executor = retried(&scripted, 1);
    let (options, trace) = options();
    let start = Instant::now();
    let go_on = Cancellation::new();
    executor.prepare(options, &go_on).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(2 * 3));
    executor
        .run(CommandBuilder::new("make").build(), &go_on)
        .await
        .unwrap();
    executor.cleanup().await.unwrap();
    assert_eq!(
        scripted.timeline().lines(),
        [
            "provider.create(1)",
            "executor(1).prepare",
            "executor(1).cleanup",
            "provider.create(2)",
            "executor(2).prepare",
            "executor(2).cleanup",
            "provider.create(3)",
            "executor(3).prepare",
            "executor(3).run(step_script)",
            "executor(3).cleanup",
        ]
    );
    let warning = |number| {
        format!(
            "\x1b[0;33mWARNING: attempt {number} of 3 to prepare failed, next attempt in 3s: \
             scripted: connect\x1b[0;m"
        )
    };
    assert_eq!(warnings(&trace), [warning(1), warning(2)]);
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn what_will_fail_again_is_not_tried_again() {
    for error in [
        || BuildError::config("no such image"),
        || BuildError::Canceled(CancelCause::EnvironmentLost),
    ] {
        let scripted = fails(Failure::with(error));
        let mut executor = retried(&scripted, 1);
        let returned = prepare(&mut *executor).await.unwrap_err();
        assert_eq!(returned.to_string(), error().to_string());
        executor.cleanup().await.unwrap();
        assert_eq!(prepared(&scripted), 1);
        scripted.assert_obeyed();
    }
}

#[tokio::test(start_paused = true)]
async fn second_retry_layer_does_not_multiply() {
    for layers in [1, 2, 3] {
        let scripted = fails(Failure::temporary("connect"));
        let mut executor = retried(&scripted, layers);
        let error = prepare(&mut *executor).await.unwrap_err();
        assert_eq!(prepared(&scripted), 3, "{layers} layers");
        executor.cleanup().await.unwrap();
        scripted.assert_obeyed();

        // A driver that tries temporary errors again, as the job runner does, does not either.
        assert!(!error.is_temporary());
        let is_marked = matches!(
            error,
            BuildError::System {
                retry: Retryability::GivenUp,
                ..
            }
        );
        assert!(is_marked, "{error:?}");
        assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    }
}

#[tokio::test(start_paused = true)]
async fn the_numbers_can_be_others() {
    let check = async |attempts, expect| {
        let scripted = fails(Failure::temporary("connect"));
        let layer = RetryLayer::new()
            .with_attempts(attempts)
            .with_pause(Duration::from_secs(10));
        let provider = layer.layer(scripted.shared());
        let mut executor = provider.create(&ExecutorData::new()).unwrap();
        let start = Instant::now();
        assert!(prepare(&mut *executor).await.is_err());
        assert_eq!(prepared(&scripted), expect);
        let rests = u32::try_from(expect).unwrap() - 1;
        assert_eq!(start.elapsed(), Duration::from_secs(10) * rests);
        executor.cleanup().await.unwrap();
    };
    check(5, 5).await;
    check(1, 1).await;
    check(0, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_rest_and_there_is_no_further_try() {
    let scripted = fails(Failure::temporary("connect"));
    let mut executor = retried(&scripted, 1);
    let stop = Cancellation::new();
    let (error, ()) = tokio::join!(executor.prepare(options().0, &stop), async {
        scripted
            .timeline()
            .wait_for_line("executor(1).cleanup")
            .await;
        stop.cancel(CancelCause::Shutdown);
    });
    let error = error.unwrap_err();
    assert!(
        matches!(error, BuildError::Canceled(CancelCause::Shutdown)),
        "{error}"
    );
    executor.cleanup().await.unwrap();
    assert_eq!(scripted.counts().create, 1);
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_fails_is_a_try_as_well() {
    let scripted = ScriptedProvider::new();
    scripted.on(Moment::Create, Directive::succeed().times(1));
    scripted.on(
        Moment::Create,
        Directive::fail(Failure::temporary("fork")).times(1),
    );
    let fails_once = Directive::fail(Failure::temporary("connect")).times(1);
    scripted.on(Moment::Prepare, fails_once);
    let mut executor = retried(&scripted, 1);
    prepare(&mut *executor).await.unwrap();
    executor.cleanup().await.unwrap();
    assert_eq!((scripted.counts().create, prepared(&scripted)), (3, 2));
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_cleaned_up_is_in_the_log() {
    let scripted = ScriptedProvider::new();
    let fails_once = Directive::fail(Failure::temporary("connect")).times(1);
    scripted.on(Moment::Prepare, fails_once);
    let stays = Directive::fail(Failure::permanent("remove the container")).times(1);
    scripted.on(Moment::Cleanup, stays);
    let mut executor = retried(&scripted, 1);
    let (options, trace) = options();
    executor
        .prepare(options, &Cancellation::new())
        .await
        .unwrap();
    executor.cleanup().await.unwrap();
    let lines = warnings(&trace);
    assert!(
        lines[0].contains("failed to clean up: scripted: remove the container"),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_took_the_stage_early_sees_that_of_the_latest_executor() {
    let scripted = ScriptedProvider::new();
    let fails_once = Directive::fail(Failure::temporary("connect")).times(1);
    scripted.on(Moment::Prepare, fails_once);
    let mut executor = retried(&scripted, 1);
    let stage = executor.stage_cell();
    assert_eq!(stage.get(), ExecutorStage::CREATED);
    prepare(&mut *executor).await.unwrap();
    assert_eq!(stage.get(), ExecutorStage::PREPARE);
    stage.set(ExecutorStage::new("elsewhere"));
    assert_eq!(executor.current_stage().as_str(), "elsewhere");
    executor.cleanup().await.unwrap();
    assert_eq!(stage.get(), ExecutorStage::CLEANUP);
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_the_latest_executor_is_cleaned_up() {
    let scripted = ScriptedProvider::new();
    let fails_once = Directive::fail(Failure::temporary("connect")).times(1);
    scripted.on(Moment::Prepare, fails_once);
    scripted.on(Moment::Prepare, Directive::fail(Failure::panic("a bug")));
    let executor = Arc::new(Mutex::new(retried(&scripted, 1)));
    let mut task = JoinSet::new();
    let panics = Arc::clone(&executor);
    task.spawn(async move { prepare(&mut **panics.lock().await).await });
    assert!(task.join_next().await.unwrap().unwrap_err().is_panic());
    executor.lock().await.cleanup().await.unwrap();
    assert_eq!(scripted.counts().create, 2);
    scripted.assert_obeyed();
}
