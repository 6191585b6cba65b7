//! Layers below the job runner, which prepares again as well.

use executor_core::prelude::*;
use executor_core::{ActiveJobs, ErrorPolicy, FailureReason, JobSlots, Worker};
use executor_layers::{ConcurrencyLimitLayer, FallbackLayer, RetryLayer};
use executor_testkit::{
    Directive, Failure, JobBuilder, Moment, RecordingJobSource, ScriptedProvider,
};
use job_runner::{BuildRunner, BuildRunnerOptions};
use process::{Settings, Supervisor};
use std::time::Duration;

/// Runs one job, and returns why it failed.
async fn run(provider: Arc<dyn ExecutorProvider>) -> Option<FailureReason> {
    let supervisor = Supervisor::start(Settings::default()).unwrap();
    let options = BuildRunnerOptions {
        prepare_pause: Duration::ZERO,
        ..BuildRunnerOptions::default()
    };
    let source = Arc::new(RecordingJobSource::new());
    source.hand_out(JobBuilder::new(1).script(["make"]).build());
    let worker = Worker {
        config: Arc::new(RunnerConfig::new("a", "scripted")),
        provider,
        source: source.clone(),
        runner: Arc::new(BuildRunner::new(options, supervisor)),
        active: ActiveJobs::new(),
        slots: JobSlots::new(),
        pause: Worker::DEFAULT_PAUSE,
        on_error: ErrorPolicy::Fail,
    };
    worker.run(&Cancellation::new()).await.unwrap();
    source.outcomes()[0].1.failure_reason()
}

fn fails() -> ScriptedProvider {
    let scripted = ScriptedProvider::new();
    let fails = Directive::fail(Failure::temporary("connect"));
    scripted.on(Moment::Prepare, fails);
    scripted
}

fn retry() -> RetryLayer {
    RetryLayer::new().with_pause(Duration::ZERO)
}

#[tokio::test]
async fn the_tries_of_the_job_runner_do_not_multiply_those_of_a_layer() {
    let scripted = fails();
    let stack = ProviderStack::new(scripted.clone())
        .layer(&retry().with_attempts(2))
        .layer(&ConcurrencyLimitLayer::concurrent(1))
        .layer(&retry());
    let reason = run(stack.build()).await;
    assert_eq!(reason, Some(FailureReason::RunnerSystemFailure));
    assert_eq!(scripted.prepared().len(), 2);
    scripted.assert_obeyed();
}

#[tokio::test]
async fn a_job_whose_preferred_provider_gave_up_runs_on_the_next() {
    let (preferred, spare) = (fails(), ScriptedProvider::new());
    let fallback = FallbackLayer::to(spare.shared()).also_after_failed_prepare();
    let stack = ProviderStack::new(preferred.clone())
        .layer(&retry())
        .layer(&fallback);
    assert_eq!(run(stack.build()).await, None);
    assert_eq!(preferred.prepared().len(), 3);
    assert!(spare.stages().contains(&"step_script".to_owned()));
    preferred.assert_obeyed();
    spare.assert_obeyed();
}
