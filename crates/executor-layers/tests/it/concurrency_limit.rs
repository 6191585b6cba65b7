//! Who gets capacity, and when it is free again.

use executor_core::panics::catch_panic;
use executor_core::prelude::*;
use executor_core::{
    ActiveJobs, ErrorPolicy, JobAssignment, JobRunner, JobSlots, RunContext, TurnOutcome, Worker,
};
use executor_layers::{ConcurrencyLimitLayer, WhenFull};
use executor_testkit::{
    Directive, Failure, JobBuilder, Lease, Moment, RecordingJobSource, ScriptedProvider,
};

fn limited(layer: &ConcurrencyLimitLayer) -> (ScriptedProvider, Arc<dyn ExecutorProvider>) {
    let scripted = ScriptedProvider::new();
    let provider = layer.layer(scripted.shared());
    (scripted, provider)
}

fn is_full(acquired: &Result<ExecutorData, AcquireError>) -> bool {
    matches!(acquired, Err(AcquireError::NoFreeExecutor))
}

#[tokio::test]
async fn a_full_limit_refuses_before_the_inner_provider_is_asked() {
    let (scripted, provider) = limited(&ConcurrencyLimitLayer::concurrent(2));
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    let first = provider.acquire(&config, &go_on).await.unwrap();
    let other = RunnerConfig::new("b", "scripted");
    let second = provider.acquire(&other, &go_on).await.unwrap();
    assert!(is_full(&provider.acquire(&config, &go_on).await));
    assert_eq!(scripted.counts().acquire, 2);

    provider.release(&config, first).await;
    let third = provider.acquire(&config, &go_on).await.unwrap();
    provider.release(&config, third).await;
    provider.release(&other, second).await;
    scripted.assert_obeyed();
}

#[tokio::test]
async fn each_runner_has_the_limit_of_its_settings() {
    let (_scripted, provider) = limited(&ConcurrencyLimitLayer::of_each_runner());
    let go_on = Cancellation::new();
    let (mut one, mut two) = (
        RunnerConfig::new("one", "scripted"),
        RunnerConfig::new("two", "scripted"),
    );
    (one.limit, two.limit) = (1, 2);
    let _first = provider.acquire(&one, &go_on).await.unwrap();
    assert!(is_full(&provider.acquire(&one, &go_on).await));
    let _second = provider.acquire(&two, &go_on).await.unwrap();
    let _third = provider.acquire(&two, &go_on).await.unwrap();
    assert!(is_full(&provider.acquire(&two, &go_on).await));

    // The runner's settings were read again.
    one.limit = 2;
    let _fourth = provider.acquire(&one, &go_on).await.unwrap();
    // Zero is no limit, as in GitLab Runner's settings.
    two.limit = 0;
    let _fifth = provider.acquire(&two, &go_on).await.unwrap();
}

#[tokio::test]
async fn one_layer_limits_all_the_providers_it_is_put_around() {
    let layer = ConcurrencyLimitLayer::concurrent(1);
    let (_, one) = limited(&layer);
    let (_, other) = limited(&layer);
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    let data = one.acquire(&config, &go_on).await.unwrap();
    assert!(is_full(&other.acquire(&config, &go_on).await));
    one.release(&config, data).await;
    other.acquire(&config, &go_on).await.unwrap();
}

#[tokio::test]
async fn who_waits_has_the_seat_as_soon_as_it_is_free() {
    let (scripted, provider) = waiting();
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    let first = provider.acquire(&config, &go_on).await.unwrap();
    let (second, ()) = tokio::join!(
        provider.acquire(&config, &go_on),
        provider.release(&config, first)
    );
    provider.release(&config, second.unwrap()).await;
    scripted.assert_obeyed();
}

#[tokio::test]
async fn a_stop_ends_the_waiting_and_nothing_is_taken() {
    let (scripted, provider) = waiting();
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    let first = provider.acquire(&config, &go_on).await.unwrap();
    let stop = Cancellation::new();
    let (second, ()) = tokio::join!(provider.acquire(&config, &stop), async {
        stop.cancel(CancelCause::Shutdown);
    });
    let error = second.unwrap_err();
    assert!(
        matches!(error, AcquireError::Canceled(CancelCause::Shutdown)),
        "{error}"
    );
    assert_eq!(scripted.counts().acquire, 1);
    provider.release(&config, first).await;
    let third = provider.acquire(&config, &go_on).await.unwrap();
    provider.release(&config, third).await;
    scripted.assert_obeyed();
}

#[tokio::test]
async fn the_seat_is_free_when_the_inner_provider_refuses_or_the_data_is_dropped() {
    let (scripted, provider) = limited(&ConcurrencyLimitLayer::concurrent(1));
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    scripted.set_capacity(Some(0));
    assert!(is_full(&provider.acquire(&config, &go_on).await));
    scripted.set_capacity(None);
    drop(provider.acquire(&config, &go_on).await.unwrap());
    provider.acquire(&config, &go_on).await.unwrap();
}

#[tokio::test]
async fn release_gives_the_seat_back_though_somebody_holds_a_clone_of_the_data() {
    let layer = ConcurrencyLimitLayer::concurrent(1);
    let scripted = ScriptedProvider::new();
    // Twice in one stack: each of the two has to find its own seat.
    let provider = ProviderStack::new(scripted.clone())
        .layer(&ConcurrencyLimitLayer::concurrent(1))
        .layer(&layer)
        .build();
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    let data = provider.acquire(&config, &go_on).await.unwrap();
    let kept = data.clone();
    provider.release(&config, data).await;
    let second = provider.acquire(&config, &go_on).await.unwrap();
    provider.release(&config, second).await;
    assert_eq!(kept.get::<Lease>(), Some(&Lease { number: 1 }));
    scripted.assert_obeyed();
}

#[tokio::test]
async fn the_seat_of_a_turn_without_a_job_or_with_a_panic_is_free_again() {
    for creates in [
        Directive::succeed(),
        Directive::fail(Failure::panic("a bug")),
    ] {
        let (scripted, provider) = limited(&ConcurrencyLimitLayer::concurrent(1));
        scripted.on(Moment::Create, creates);
        let source = RecordingJobSource::new();
        source.hand_out(JobBuilder::new(1).build());
        let worker = Worker {
            config: Arc::new(RunnerConfig::new("a", "scripted")),
            provider,
            source: Arc::new(source),
            runner: Arc::new(CreatesOnly),
            active: ActiveJobs::new(),
            slots: JobSlots::new(),
            pause: Worker::DEFAULT_PAUSE,
            on_error: ErrorPolicy::Fail,
        };
        // The second turn finds capacity, or it would say that there is none.
        let turns = [
            worker.take_turn(&Cancellation::new()).await.unwrap(),
            worker.take_turn(&Cancellation::new()).await.unwrap(),
        ];
        assert_eq!(turns, [TurnOutcome::RanJob, TurnOutcome::Closed]);
        scripted.assert_obeyed();
    }
}

fn waiting() -> (ScriptedProvider, Arc<dyn ExecutorProvider>) {
    limited(&ConcurrencyLimitLayer::concurrent(1).when_full(WhenFull::Wait))
}

/// Creates the executor of a job, and no more.
#[derive(Debug)]
struct CreatesOnly;

#[async_trait]
impl JobRunner for CreatesOnly {
    async fn run(&self, _assignment: JobAssignment, context: RunContext) -> JobOutcome {
        let created = context.provider.create(&context.data);
        created.map_or_else(JobOutcome::from_error, |_| JobOutcome::success())
    }
}

#[tokio::test]
async fn a_seat_is_free_although_the_release_panics() {
    let (scripted, provider) = limited(&ConcurrencyLimitLayer::concurrent(1));
    let panics = Directive::fail(Failure::panic("a bug at the end")).times(1);
    scripted.on(Moment::Release, panics);
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    let data = provider.acquire(&config, &go_on).await.unwrap();
    // Whoever still holds a clone holds no seat.
    let _clone = data.clone();
    catch_panic(provider.release(&config, data))
        .await
        .unwrap_err();
    let again = provider.acquire(&config, &go_on).await.unwrap();
    provider.release(&config, again).await;
}
