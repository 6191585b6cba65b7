//! What the runner asks of an executor's provider, and what of that reaches the server.

use crate::bench::Bench;
use executor_core::{BuildStage, ConfigInfo, FeaturesInfo};
use executor_testkit::{Directive, Gate, ScriptedProvider};
use gitlab_testkit::Endpoint;

fn bench_of(provider: &ScriptedProvider) -> Bench {
    let mut bench = Bench::new();
    bench.provider = Some(provider.shared());
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn capacity_is_acquired_before_a_request_and_released_after_the_job() {
    // R-EXEC-12, R-EXEC-13, R-EXEC-30
    let provider = ScriptedProvider::new();
    provider.set_capacity(Some(1));
    let bench = bench_of(&provider);
    let id = bench.queue(&["true"]);
    let runner = bench.start();
    assert_eq!(bench.end_of(id).await["state"], "success");
    runner.finish().await;
    let lines = provider.timeline().lines();
    let at = |text: &str| lines.iter().position(|it| it.contains(text)).expect(text);
    assert!(at("provider.acquire") < at("provider.create"), "{lines:?}");
    assert!(at("cleanup") < at("provider.release"), "{lines:?}");
    assert_eq!(provider.leased(), 0);
    // Among others, each executor was created with what had been acquired.
    provider.assert_obeyed();
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_without_capacity_sends_no_request() {
    // R-EXEC-29
    let provider = ScriptedProvider::new();
    provider.set_capacity(Some(0));
    let bench = bench_of(&provider);
    let id = bench.queue(&["true"]);
    let runner = bench.start();
    while provider.counts().acquire < 3 {
        tokio::task::yield_now().await;
    }
    let requests = bench.server.with_state(|it| it.count(Endpoint::Request));
    assert_eq!(requests, 0);
    assert_eq!(provider.counts().features, 0);
    provider.set_capacity(None);
    bench.end_of(id).await;
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn features_and_configuration_of_each_request_are_those_of_the_provider() {
    // R-EXEC-14, R-EXEC-15, R-EXEC-31
    let provider = ScriptedProvider::new();
    provider.set_features(FeaturesInfo {
        services: true,
        ..FeaturesInfo::default()
    });
    provider.set_config_info(ConfigInfo {
        gpus: "all".to_owned(),
    });
    let bench = bench_of(&provider);
    let runner = bench.start();
    let requests =
        |count| move |it: &gitlab_testkit::JobServerState| it.count(Endpoint::Request) >= count;
    bench.wait("two requests", requests(2)).await;
    provider.set_features(FeaturesInfo::default());
    let so_far = bench.server.with_state(|it| it.count(Endpoint::Request));
    bench.wait("two more", requests(so_far + 2)).await;
    runner.finish().await;
    let calls = bench.server.calls();
    let infos = calls.iter().filter(|it| it.endpoint == Endpoint::Request);
    let infos: Vec<_> = infos.map(|it| it.field("info").clone()).collect();
    let services: Vec<_> = infos
        .iter()
        .map(|it| it["features"]["services"] == true)
        .collect();
    let (first, last) = (services[0], services[services.len() - 1]);
    assert_eq!((first, last), (true, false), "{services:?}");
    assert!(infos.iter().all(|it| it["config"]["gpus"] == "all"));
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_and_shell_are_asked_once_for_each_request() {
    // R-EXEC-32, R-EXEC-33
    let provider = ScriptedProvider::new();
    let mut bench = bench_of(&provider);
    bench.settings.runners[0].config.shell = None;
    let id = bench.queue(&["true"]);
    let runner = bench.start();
    bench.end_of(id).await;
    runner.finish().await;
    let requests = bench.server.with_state(|it| it.count(Endpoint::Request));
    let counts = provider.counts();
    assert_eq!(
        (counts.config_info, counts.default_shell),
        (requests, requests)
    );
    let calls = bench.server.calls();
    let request = calls.iter().find(|it| it.endpoint == Endpoint::Request);
    assert_eq!(request.unwrap().field("info")["shell"], "sh");
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_begins_and_ends_with_the_process_and_outlives_a_reload() {
    let provider = ScriptedProvider::new();
    let bench = bench_of(&provider);
    let runner = bench.start();
    bench.end_of(bench.queue(&["true"])).await;
    let mut settings = bench.settings.clone();
    settings.runners[0].request_concurrency = 2;
    settings.runners[0].fingerprint += 1;
    runner.reload.send_replace(Some(settings));
    bench.end_of(bench.queue(&["true"])).await;
    runner.finish().await;
    let counts = provider.counts();
    assert_eq!((counts.init, counts.shutdown), (1, 1));
    provider.assert_obeyed();
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_counts_the_jobs_of_earlier_settings() {
    let provider = ScriptedProvider::new();
    let gate = Gate::new();
    let waits = Directive::succeed().until(gate.clone());
    provider.on(BuildStage::script(), waits);
    let mut bench = bench_of(&provider);
    bench.settings.concurrent = 9;
    bench.settings.runners[0].config.limit = 1;
    let runner = bench.start();
    let first = bench.queue(&["true"]);
    bench
        .wait("the first job", |it| it.is_acknowledged(first))
        .await;
    let second = bench.queue(&["true"]);
    let mut settings = bench.settings.clone();
    settings.runners[0].fingerprint += 1;
    let requests = bench.server.with_state(|it| it.count(Endpoint::Request));
    runner.reload.send_replace(Some(settings));
    // The delivery of the first job asks for its state meanwhile, so the runner had time to poll.
    bench
        .wait("a look at the first job", |it| {
            it.count(Endpoint::UpdateRunning) > 2
        })
        .await;
    let now = bench.server.with_state(|it| it.count(Endpoint::Request));
    assert_eq!(now, requests);
    gate.open();
    bench.end_of(first).await;
    bench.end_of(second).await;
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn feature_flags_of_the_runner_have_precedence_over_those_of_the_job() {
    let mut bench = Bench::new();
    let flags = &mut bench.settings.runners[0].feature_flags;
    flags.insert("FF_USE_FASTZIP".to_owned(), true);
    let mut job = crate::bench::job(&["echo it is $FF_USE_FASTZIP."]);
    let variable = serde_json::json!({"key": "FF_USE_FASTZIP", "value": "false", "public": true});
    job["variables"].as_array_mut().unwrap().push(variable);
    let id = bench.server.queue(job);
    let runner = bench.start();
    bench.end_of(id).await;
    runner.finish().await;
    assert!(bench.log(id).contains("it is true."), "{}", bench.log(id));
}
