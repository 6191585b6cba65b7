//! What happens to calls that take too long.

use crate::support::{Deaf, options, prepare};
use executor_core::prelude::*;
use executor_layers::TimeoutLayer;
use executor_testkit::{CommandBuilder, Directive, Moment, ScriptedProvider, runner_config};
use std::time::Duration;
use tokio::time::Instant;

const LIMIT: Duration = Duration::from_secs(10);

fn all() -> TimeoutLayer {
    TimeoutLayer::new()
        .with_acquire(LIMIT)
        .with_prepare(LIMIT)
        .with_run(LIMIT)
        .with_cleanup(LIMIT)
        .with_shutdown(LIMIT)
}

fn limited(scripted: &ScriptedProvider) -> Box<dyn Executor> {
    let provider = all().layer(scripted.shared());
    provider.create(&ExecutorData::new()).unwrap()
}

#[track_caller]
fn assert_timeout<T: std::fmt::Debug>(result: Result<T, BuildError>, expect: &'static str) {
    match result.unwrap_err() {
        BuildError::Timeout { phase, limit } => assert_eq!((phase, limit), (expect, LIMIT)),
        error => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn capacity_that_comes_too_late_is_no_capacity() {
    let scripted = ScriptedProvider::new();
    scripted.on(Moment::Acquire, Directive::hang().times(1));
    let provider = all().layer(scripted.shared());
    let (config, go_on) = (runner_config("slow"), Cancellation::new());
    let start = Instant::now();
    let error = provider.acquire(&config, &go_on).await.unwrap_err();
    assert!(matches!(error, AcquireError::NoFreeExecutor), "{error}");
    assert_eq!(start.elapsed(), LIMIT);
    assert!(!go_on.is_canceled(), "the worker goes on");
    let data = provider.acquire(&config, &go_on).await.unwrap();
    provider.release(&config, data).await;
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_stopped_acquire_says_who_stopped_it() {
    let scripted = ScriptedProvider::new();
    scripted.on(Moment::Acquire, Directive::hang());
    let provider = all().layer(scripted.shared());
    let (config, stop) = (runner_config("slow"), Cancellation::new());
    let (acquired, ()) = tokio::join!(provider.acquire(&config, &stop), async {
        scripted.timeline().wait_for_line("provider.acquire").await;
        stop.cancel(CancelCause::Shutdown);
    });
    let error = acquired.unwrap_err();
    assert!(
        matches!(error, AcquireError::Canceled(CancelCause::Shutdown)),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_preparation_is_aborted_and_awaited() {
    let scripted = ScriptedProvider::new();
    let slow_to_end = Directive::hang().termination(Duration::from_hours(1));
    scripted.on(Moment::Prepare, slow_to_end);
    let mut executor = limited(&scripted);
    let start = Instant::now();
    assert_timeout(prepare(&mut *executor).await, "prepare");
    assert_eq!(start.elapsed(), LIMIT, "there is nothing to end gracefully");
    executor.cleanup().await.unwrap();
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_stage_is_cancelled_and_has_the_runners_grace_period() {
    let scripted = ScriptedProvider::new();
    let (soon, late) = (Duration::from_secs(1), Duration::from_hours(1));
    scripted.on(
        BuildStage::script(),
        Directive::hang().termination(soon).times(1),
    );
    scripted.on(
        BuildStage::GetSources,
        Directive::hang().termination(late).times(1),
    );
    let mut executor = limited(&scripted);
    let (options, _trace) = options();
    let grace = options.config.graceful_kill_timeout + options.config.force_kill_timeout;
    let go_on = Cancellation::new();
    executor.prepare(options, &go_on).await.unwrap();

    let start = Instant::now();
    let fetch = CommandBuilder::new("git fetch").stage(BuildStage::GetSources);
    assert_timeout(executor.run(fetch.build(), &go_on).await, "get_sources");
    assert_eq!(start.elapsed(), LIMIT + grace, "it was aborted then");

    let start = Instant::now();
    let command = CommandBuilder::new("make").build();
    assert_timeout(executor.run(command, &go_on).await, "step");
    assert_eq!(start.elapsed(), LIMIT + soon);

    // A stage that was stopped leaves an environment in which others run.
    let after = CommandBuilder::new("true").stage(BuildStage::AfterScript);
    executor.run(after.build(), &go_on).await.unwrap();
    executor.cleanup().await.unwrap();
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_is_no_timeout() {
    let scripted = ScriptedProvider::new();
    scripted.on(Moment::Prepare, Directive::hang());
    let mut executor = limited(&scripted);
    let stop = Cancellation::new();
    let (prepared, ()) = tokio::join!(executor.prepare(options().0, &stop), async {
        scripted
            .timeline()
            .wait_for_line("executor(1).prepare")
            .await;
        stop.abort(CancelCause::User);
    });
    let error = prepared.unwrap_err();
    assert!(
        matches!(error, BuildError::Canceled(CancelCause::User)),
        "{error}"
    );
    executor.cleanup().await.unwrap();
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_that_hangs_is_left_and_may_be_called_again() {
    let scripted = ScriptedProvider::new();
    scripted.on(Moment::Cleanup, Directive::hang().times(1));
    let mut executor = limited(&scripted);
    prepare(&mut *executor).await.unwrap();
    assert_timeout(executor.cleanup().await, "cleanup");
    executor.cleanup().await.unwrap();
    // Nothing stops a cleanup but this.
    assert_eq!(
        scripted.violations(),
        ["executor(1): cleanup was dropped before its end"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_obeys_no_stop_is_left_and_runs_nothing_more() {
    let scripted = ScriptedProvider::new();
    let provider = all()
        .with_patience(Duration::from_secs(5))
        .layer(Arc::new(Deaf::around(scripted.shared())));
    let (config, go_on) = (runner_config("deaf"), Cancellation::new());
    let start = Instant::now();
    let error = provider.acquire(&config, &go_on).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 10 + 5);
    assert!(matches!(error, AcquireError::Provider(_)), "{error}");

    let mut executor = provider.create(&ExecutorData::new()).unwrap();
    let start = Instant::now();
    assert_timeout(prepare(&mut *executor).await, "prepare");
    assert_eq!(start.elapsed().as_secs(), 10 + 5);
    let error = executor
        .run(CommandBuilder::new("make").build(), &go_on)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "timeout: an earlier call was abandoned halfway"
    );
    assert!(!error.is_temporary());
    executor.cleanup().await.unwrap();
    assert_eq!(scripted.timeline().lines()[1..], ["executor(1).cleanup"]);

    let error = provider.shutdown(Duration::from_hours(1)).await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "the provider did not shut down within 10s"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_nothing_is_stopped() {
    let scripted = ScriptedProvider::new();
    let long = Directive::succeed().delay(Duration::from_hours(24));
    for moment in [Moment::Acquire, Moment::Prepare, Moment::Cleanup] {
        scripted.on(moment, long.clone());
    }
    scripted.on(BuildStage::script(), long);
    let provider = TimeoutLayer::new().layer(scripted.shared());
    let (config, go_on) = (runner_config("slow"), Cancellation::new());
    let data = provider.acquire(&config, &go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    prepare(&mut *executor).await.unwrap();
    let command = CommandBuilder::new("make").build();
    executor.run(command, &go_on).await.unwrap();
    executor.cleanup().await.unwrap();
    provider.release(&config, data).await;
    provider.shutdown(LIMIT).await.unwrap();
    assert_eq!(scripted.counts().shutdown, 1);
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn limits_that_no_clock_reaches_are_none() {
    let scripted = ScriptedProvider::new();
    let layer = TimeoutLayer::new()
        .with_acquire(Duration::MAX)
        .with_prepare(Duration::MAX)
        .with_shutdown(Duration::MAX)
        .with_patience(Duration::MAX);
    let provider = layer.layer(scripted.shared());
    let (mut options, _) = options();
    let mut config = runner_config("patient");
    config.graceful_kill_timeout = Duration::MAX;
    let go_on = Cancellation::new();
    let data = provider.acquire(&config, &go_on).await.unwrap();
    options.config = Arc::new(config.clone());
    let mut executor = provider.create(&data).unwrap();
    executor.prepare(options, &go_on).await.unwrap();
    executor.cleanup().await.unwrap();
    provider.release(&config, data).await;
    provider.shutdown(Duration::MAX).await.unwrap();
    scripted.assert_obeyed();
}
