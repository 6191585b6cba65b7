//! Where a job goes by its tags, and how long it waits there.

use crate::support::prepare;
use executor_core::job::JobDefinition;
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_core::{FailureReason, Retryability};
use executor_layers::{RetryLayer, RouteByTagsLayer};
use executor_testkit::{
    CommandBuilder, Directive, Failure, JobBuilder, Lease, Moment, OptionsBuilder, RecordingTrace,
    ScriptedProvider, runner_config,
};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A default host and one with a graphics card.
struct Hosts {
    default: ScriptedProvider,
    gpu: ScriptedProvider,
    provider: Arc<dyn ExecutorProvider>,
    config: RunnerConfig,
    go_on: Cancellation,
    trace: RecordingTrace,
}

impl Hosts {
    fn new() -> Self {
        let (default, gpu) = (ScriptedProvider::new(), ScriptedProvider::new());
        let provider = RouteByTagsLayer::new()
            .with_route(["gpu", "linux"], gpu.shared())
            .with_default_tags(["docker"])
            .layer(default.shared());
        Self {
            default,
            gpu,
            provider,
            config: runner_config("either"),
            go_on: Cancellation::new(),
            trace: RecordingTrace::new(),
        }
    }

    async fn acquire(&self) -> ExecutorData {
        let acquired = self.provider.acquire(&self.config, &self.go_on).await;
        acquired.unwrap()
    }

    /// How many leases each has out.
    fn leased(&self) -> (usize, usize) {
        (self.default.leased(), self.gpu.leased())
    }

    /// Options for a job of these tags.
    fn options(&self, tags: &[&str]) -> PrepareOptions {
        let job = JobBuilder::new(1).with(|job| {
            let tags = tags.iter().map(|&tag| tag.to_owned()).collect();
            job.definition = Some(Box::new(JobDefinition {
                tags: Some(tags),
                ..JobDefinition::default()
            }));
        });
        let job = job.variable(JobVariable::public("KIND", "gpu"));
        OptionsBuilder::new()
            .job(job.build())
            .trace(Arc::new(self.trace.clone()))
            .build()
    }

    async fn prepare(&self, executor: &mut dyn Executor, tags: &[&str]) -> Result<(), BuildError> {
        let prepared = executor.prepare(self.options(tags), &self.go_on).await;
        prepared.map(drop)
    }

    async fn end(&self, mut executor: Box<dyn Executor>, data: ExecutorData) {
        executor.cleanup().await.unwrap();
        drop(executor);
        self.provider.release(&self.config, data).await;
        assert_eq!(self.leased(), (0, 0));
        self.default.assert_obeyed();
        self.gpu.assert_obeyed();
    }

    fn log(&self) -> String {
        self.trace.text(TraceStream::SYSTEM)
    }
}

#[tokio::test]
async fn a_job_takes_the_route_with_all_its_tags_and_gives_back_what_it_took() {
    let check = async |tags: &[&str], expect| {
        let hosts = Hosts::new();
        let data = hosts.acquire().await;
        assert_eq!(hosts.leased(), (0, 0), "nothing is known of the job yet");
        let mut executor = hosts.provider.create(&data).unwrap();
        hosts.prepare(&mut *executor, tags).await.unwrap();
        assert_eq!(hosts.leased(), expect, "{tags:?}");
        hosts.end(executor, data).await;
    };
    check(&["gpu"], (0, 1)).await;
    check(&["linux", "gpu"], (0, 1)).await;
    check(&["$KIND"], (0, 1)).await;
    check(&["docker"], (1, 0)).await;
    check(&[], (1, 0)).await;
}

#[tokio::test]
async fn a_job_of_a_gitlab_takes_the_default() {
    let hosts = Hosts::new();
    let data = hosts.acquire().await;
    let mut executor = hosts.provider.create(&data).unwrap();
    prepare(&mut *executor).await.unwrap();
    assert_eq!(hosts.leased(), (1, 0));
    hosts.end(executor, data).await;
}

#[tokio::test]
async fn tags_that_no_route_has_are_a_mistake_that_names_them() {
    for tag in ["mac", "$UNKNOWN"] {
        let hosts = Hosts::new();
        let data = hosts.acquire().await;
        let mut executor = hosts.provider.create(&data).unwrap();
        let error = hosts.prepare(&mut *executor, &["gpu", tag]).await;
        let error = error.unwrap_err();
        let mut tags = ["gpu", tag];
        tags.sort_unstable();
        assert_eq!(
            error.to_string(),
            format!(
                "no route has all of the tags [{}]; the routes are [docker] [gpu, linux]",
                tags.join(", ")
            )
        );
        assert_eq!(
            error.failure_reason(),
            FailureReason::RunnerConfigurationError
        );
        hosts.end(executor, data).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_waits_until_its_route_has_capacity() {
    let hosts = Hosts::new();
    hosts.gpu.set_capacity(Some(1));
    let first_data = hosts.acquire().await;
    let mut first = hosts.provider.create(&first_data).unwrap();
    hosts.prepare(&mut *first, &["gpu"]).await.unwrap();

    let data = hosts.acquire().await;
    let mut executor = hosts.provider.create(&data).unwrap();
    let start = Instant::now();
    let (prepared, ()) = tokio::join!(hosts.prepare(&mut *executor, &["gpu"]), async {
        let waiting = "Waiting for a free executor of [gpu, linux]...";
        hosts.trace.wait_for(TraceStream::SYSTEM, waiting).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        first.cleanup().await.unwrap();
        hosts.provider.release(&hosts.config, first_data).await;
    });
    prepared.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(12));
    let waits = hosts.log().matches("Waiting").count();
    assert_eq!(waits, 1, "it says so once:\n{}", hosts.log());
    hosts.end(executor, data).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_waiting() {
    let hosts = Hosts::new();
    hosts.gpu.set_capacity(Some(0));
    let data = hosts.acquire().await;
    let mut executor = hosts.provider.create(&data).unwrap();
    let (prepared, ()) = tokio::join!(hosts.prepare(&mut *executor, &["gpu"]), async {
        hosts.trace.wait_for(TraceStream::SYSTEM, "Waiting").await;
        hosts.go_on.cancel(CancelCause::User);
    });
    let error = prepared.unwrap_err();
    assert!(
        matches!(error, BuildError::Canceled(CancelCause::User)),
        "{error}"
    );
    hosts.end(executor, data).await;
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_busy_for_too_long_is_given_up() {
    // One that refuses, and one that waits by itself.
    for waits in [false, true] {
        let hosts = Hosts::new();
        if waits {
            hosts.gpu.on(Moment::Acquire, Directive::hang());
        } else {
            hosts.gpu.set_capacity(Some(0));
        }
        // The router below another layer, which must not multiply its patience.
        let provider = RetryLayer::new().layer(Arc::clone(&hosts.provider));
        let data = hosts.acquire().await;
        let mut executor = provider.create(&data).unwrap();
        let start = Instant::now();
        let error = hosts.prepare(&mut *executor, &["gpu"]).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "route: no executor of [gpu, linux] was free within 1h"
        );
        let is_given_up = matches!(
            error,
            BuildError::System {
                retry: Retryability::GivenUp,
                ..
            }
        );
        assert!(is_given_up, "{error:?}");
        assert!(start.elapsed() <= Duration::from_hours(1));
        assert!(start.elapsed() > Duration::from_mins(59));
        hosts.end(executor, data).await;
    }
}

#[tokio::test]
async fn a_broken_route_is_a_failure_that_may_pass() {
    let hosts = Hosts::new();
    let gone = Directive::fail(Failure::temporary("connect"));
    hosts.gpu.on(Moment::Acquire, gone);
    let data = hosts.acquire().await;
    let mut executor = hosts.provider.create(&data).unwrap();
    let error = hosts.prepare(&mut *executor, &["gpu"]).await.unwrap_err();
    assert_eq!(
        error.chain(),
        "route: acquire an executor: scripted: connect"
    );
    assert!(error.is_temporary());
    hosts.end(executor, data).await;
}

#[tokio::test]
async fn a_further_executor_of_a_job_uses_what_the_first_one_acquired() {
    let hosts = Hosts::new();
    hosts.gpu.set_capacity(Some(1));
    let fails_once = Directive::fail(Failure::temporary("connect")).times(1);
    hosts.gpu.on(Moment::Prepare, fails_once);
    let data = hosts.acquire().await;
    let mut first = hosts.provider.create(&data).unwrap();
    hosts.prepare(&mut *first, &["gpu"]).await.unwrap_err();
    first.cleanup().await.unwrap();

    let mut second = hosts.provider.create(&data).unwrap();
    hosts.prepare(&mut *second, &["gpu"]).await.unwrap();
    assert_eq!(hosts.gpu.counts().acquire, 1);
    hosts.end(second, data).await;
}

#[tokio::test]
async fn the_route_finds_its_own_data_below_that_of_the_layers_outside() {
    let hosts = Hosts::new();
    // As if a layer outside had acquired from a provider of the same kind.
    let data = hosts.acquire().await.with(Lease { number: 77 });
    let mut executor = hosts.provider.create(&data).unwrap();
    hosts.prepare(&mut *executor, &["gpu"]).await.unwrap();
    hosts.end(executor, data).await;
}

#[tokio::test]
async fn before_it_is_prepared_it_is_nobodys_and_needs_no_cleanup() {
    let hosts = Hosts::new();
    hosts.default.set_default_shell(Some(ShellDialect::Bash));
    let data = hosts.acquire().await;
    let mut executor = hosts.provider.create(&data).unwrap();
    let stage = executor.stage_cell();
    assert_eq!(executor.shell().dialect, ShellDialect::Bash);
    assert_eq!(stage.get(), ExecutorStage::CREATED);
    let command = CommandBuilder::new("make").build();
    executor.run(command, &hosts.go_on).await.unwrap_err();
    executor.cleanup().await.unwrap();
    assert_eq!(stage.get(), ExecutorStage::CLEANUP);

    let mut executor = hosts.provider.create(&data).unwrap();
    let stage = executor.stage_cell();
    hosts.prepare(&mut *executor, &["gpu"]).await.unwrap();
    assert_eq!(stage.get(), ExecutorStage::PREPARE, "it follows the route");
    hosts.end(executor, data).await;

    let error = hosts.provider.create(&ExecutorData::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the job's data was not acquired from this router"
    );
}

#[tokio::test]
async fn after_a_panic_of_the_route_its_capacity_comes_back() {
    let hosts = Hosts::new();
    hosts
        .gpu
        .on(Moment::Create, Directive::fail(Failure::panic("a bug")));
    let data = hosts.acquire().await;
    let executor = Arc::new(Mutex::new(hosts.provider.create(&data).unwrap()));
    let mut task = JoinSet::new();
    let (panics, options) = (Arc::clone(&executor), hosts.options(&["gpu"]));
    task.spawn(async move {
        let mut executor = panics.lock().await;
        executor.prepare(options, &Cancellation::new()).await
    });
    assert!(task.join_next().await.unwrap().unwrap_err().is_panic());
    assert_eq!(hosts.leased(), (0, 1));
    let executor = Arc::into_inner(executor).unwrap().into_inner();
    hosts.end(executor, data).await;
}

#[tokio::test]
async fn every_route_must_be_able_to_and_starts_and_ends() {
    let hosts = Hosts::new();
    hosts.provider.can_create().unwrap();
    hosts.provider.init().unwrap();
    hosts
        .provider
        .shutdown(Duration::from_secs(1))
        .await
        .unwrap();
    for host in [&hosts.default, &hosts.gpu] {
        assert_eq!((host.counts().init, host.counts().shutdown), (1, 1));
    }
    hosts.gpu.refuse_to_create("no driver for the card");
    let error = hosts.provider.can_create().unwrap_err();
    assert_eq!(error.to_string(), "no driver for the card");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_no_clock_ends_is_for_ever() {
    let gpu = ScriptedProvider::new();
    gpu.set_capacity(Some(0));
    let layer = RouteByTagsLayer::new()
        .with_route(["gpu"], gpu.shared())
        .with_longest_wait(Duration::MAX);
    let hosts = Hosts {
        provider: layer.layer(ScriptedProvider::new().shared()),
        ..Hosts::new()
    };
    let mut executor = hosts.provider.create(&hosts.acquire().await).unwrap();
    let (prepared, ()) = tokio::join!(hosts.prepare(&mut *executor, &["gpu"]), async {
        tokio::time::sleep(Duration::from_hours(24)).await;
        gpu.set_capacity(None);
    });
    prepared.unwrap();
    assert_eq!(gpu.leased(), 1);
}
