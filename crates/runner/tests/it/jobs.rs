use crate::bench::{Bench, TOKEN, job};
use executor_core::CancelCause;
use executor_core::job::SecretString;
use gitlab_testkit::{Endpoint, Rule};
use jiff::Timestamp;
use parking_lot::Mutex;
use runner::config::{ExecutorTables, Settings};
use runner::{NewToken, TokenStore, Url};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toml_edit::DocumentMut;

#[tokio::test(flavor = "multi_thread")]
async fn job_runs_and_its_log_and_end_arrive() {
    let bench = Bench::new();
    let id = bench.queue(&["echo hello from $CI_JOB_NAME", "false && true"]);
    let runner = bench.start();
    let end = bench.end_of(id).await;
    assert_eq!(end["state"], "failed");
    assert_eq!(end["failure_reason"], "script_failure");
    assert_eq!(end["exit_code"], 1);
    let log = bench.log(id);
    assert!(log.contains("hello from"), "{log}");
    runner.finish().await;
    assert_eq!(bench.left(), Vec::<String>::new());
    let calls = bench.server.calls();
    let kinds = calls.iter().map(|it| it.endpoint);
    let kinds: Vec<_> = kinds.filter(|it| *it != Endpoint::Request).collect();
    // A slow job has more messages, and pieces of its log, between the first and the last.
    let (first, last) = (Endpoint::UpdateRunning, Endpoint::UpdateFinal);
    assert_eq!((kinds.first(), kinds.last()), (Some(&first), Some(&last)));
    let between = &kinds[1..kinds.len() - 1];
    assert!(between.contains(&Endpoint::Trace), "{kinds:?}");
    let is_usual = |it: &Endpoint| *it == Endpoint::Trace || *it == first;
    assert!(between.iter().all(is_usual), "{kinds:?}");
    let request = &calls[0];
    assert_eq!(request.header("runner-token"), Some(TOKEN));
    assert_eq!(request.field("system_id"), "s_0123456789ab");
    assert_eq!(request.field("info")["executor"], "shell");
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_job_is_canceled_within_a_second_or_so() {
    let bench = Bench::new();
    let mut payload = job(&["echo begin", "sleep 600"]);
    payload["steps"].as_array_mut().expect("steps").push(
        json!({"name": "after_script", "script": ["echo after $CI_JOB_STATUS"], "when": "always"}),
    );
    let id = bench.server.queue(payload);
    let runner = bench.start();
    bench.wait("a log", |it| !it.trace(id).is_empty()).await;
    bench.server.set_job_status(id, "canceling");
    let began = Instant::now();
    let end = bench.end_of(id).await;
    // Not a limit on speed: without the look at the state it takes half a minute.
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(
        (&end["state"], &end["failure_reason"]),
        (&json!("failed"), &json!("job_canceled"))
    );
    assert!(bench.log(id).contains("after canceled"));
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn job_that_ended_at_the_server_is_aborted() {
    let bench = Bench::new();
    let id = bench.queue(&["echo begin", "sleep 600"]);
    let runner = bench.start();
    bench.wait("a log", |it| !it.trace(id).is_empty()).await;
    bench.server.set_job_status(id, "canceled");
    let end = bench.end_of(id).await;
    assert_eq!(end["state"], "failed");
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_runner_reports_its_job_at_the_next_start() {
    let bench = Bench::new();
    let id = bench.queue(&["echo begin", "sleep 600"]);
    let runner = bench.start();
    bench.wait("a log", |it| !it.trace(id).is_empty()).await;
    runner.kill(&bench).await;
    assert_eq!(bench.left(), [format!("{id}-1")]);
    let next = bench.start();
    let end = bench.end_of(id).await;
    assert_eq!(end["failure_reason"], "runner_system_failure");
    let log = bench.log(id);
    assert!(log.contains("the runner was killed"), "{log}");
    next.finish().await;
    assert_eq!(bench.left(), Vec::<String>::new());
    bench.check_after_kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn end_of_a_job_waits_for_a_server_that_is_away() {
    let bench = Bench::new();
    let id = bench.queue(&["echo hello"]);
    bench.server.rule(Rule::on(Endpoint::Trace).status(502));
    bench
        .server
        .rule(Rule::on(Endpoint::UpdateFinal).status(502));
    let runner = bench.start();
    bench
        .wait("a try", |it| it.count(Endpoint::Trace) >= 1)
        .await;
    // The slot is free meanwhile.
    let second = bench.queue(&["echo second"]);
    bench
        .wait("the second job", |it| it.is_acknowledged(second))
        .await;
    runner.kill(&bench).await;
    bench.server.clear_rules();
    let next = bench.start();
    assert_eq!(bench.end_of(id).await["state"], "success");
    bench.end_of(second).await;
    next.finish().await;
    assert_eq!(bench.left(), Vec::<String>::new());
    bench.check_after_kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn log_goes_on_where_the_server_has_it() {
    let bench = Bench::new();
    let id = bench.queue(&["for i in 1 2 3 4 5; do echo line $i; done"]);
    // The first piece arrives, and the runner does not learn of it.
    let cut = Rule::on(Endpoint::Trace).cut(gitlab_testkit::DropMoment::After);
    bench.server.rule(cut.nth(1..=1));
    let end = Rule::on(Endpoint::UpdateFinal).status(412).empty_trace();
    bench.server.rule(end.nth(1..=1));
    let runner = bench.start();
    bench
        .wait("two ends", |it| it.count(Endpoint::UpdateFinal) == 2)
        .await;
    assert!(bench.log(id).contains("line 5"));
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_interrupts_jobs_and_reports_them() {
    let bench = Bench::new();
    let id = bench.queue(&["echo begin", "sleep 600"]);
    let runner = bench.start();
    bench.wait("a log", |it| !it.trace(id).is_empty()).await;
    runner.stop.abort(CancelCause::Shutdown);
    runner.ended().await;
    let end = bench.server.final_update(id).expect("an end");
    assert_eq!(end["failure_reason"], "runner_interrupted");
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawn_job_does_not_run() {
    let bench = Bench::new();
    let id = bench.queue(&["touch ../../../ran"]);
    bench
        .server
        .rule(Rule::on(Endpoint::UpdateRunning).status(404));
    let runner = bench.start();
    bench
        .wait("another poll", |it| it.count(Endpoint::Request) >= 2)
        .await;
    runner.finish().await;
    assert!(bench.server.trace(id).is_empty());
    assert_eq!(bench.server.final_update(id), None);
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_and_dependencies_are_at_the_server() {
    let bench = Bench::new();
    let mut payload = job(&["mkdir out", "echo built > out/a.txt"]);
    payload["artifacts"] = json!([
        {"name": "things", "paths": ["out"], "artifact_type": "archive", "artifact_format": "zip",
            "expire_in": "1 week"},
        {"name": "junit.xml", "paths": ["out/a.txt"], "artifact_type": "cobertura", "artifact_format": "gzip",
            "when": "always"},
    ]);
    let first = bench.server.queue(payload);
    let runner = bench.start();
    assert_eq!(bench.end_of(first).await["state"], "success");
    let uploads = bench.server.uploads(first);
    assert_eq!(uploads.len(), 2);
    assert_eq!(uploads[0].filename, "things.zip");
    bench
        .server
        .artifact(first, "things.zip", uploads[0].bytes.clone());
    let mut payload = job(&["cat out/a.txt"]);
    payload["dependencies"] = json!([{"id": first, "token": "glcbt-64_jobToken", "name": "build",
        "artifacts_file": {"filename": "things.zip", "size": uploads[0].bytes.len()}}]);
    let second = bench.server.queue(payload);
    assert_eq!(bench.end_of(second).await["state"], "success");
    assert!(bench.log(second).contains("built"));
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_changes_slots_and_leaves_jobs_alone() {
    let bench = Bench::new();
    let first = bench.queue(&["echo begin; while [ ! -e ../../../../../go ]; do sleep 0.05; done"]);
    let second = bench.queue(&["echo second"]);
    let runner = bench.start();
    bench
        .wait("the first job", |it| it.is_acknowledged(first))
        .await;
    assert!(!bench.server.with_state(|it| it.is_acknowledged(second)));
    let mut settings: Settings = bench.settings.clone();
    settings.concurrent = 2;
    // Another entry takes the place of this one.
    settings.runners[0].fingerprint = 1;
    runner.reload.send_replace(Some(settings));
    bench.end_of(second).await;
    assert!(bench.server.final_update(first).is_none());
    std::fs::write(bench.dir.path().join("go"), "").expect("written");
    assert_eq!(bench.end_of(first).await["state"], "success");
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_of_the_executors_table_affects_new_jobs() {
    let bench = Bench::new();
    let runner = bench.start();
    let first = bench.queue(&["pwd"]);
    bench.end_of(first).await;
    let mut settings: Settings = bench.settings.clone();
    let table: DocumentMut = "[shell]\nbuilds = 'others'".parse().expect("a table");
    settings.runners[0].tables = ExecutorTables(table.as_table().clone());
    settings.runners[0].fingerprint = 1;
    runner.reload.send_replace(Some(settings));
    let is_in = |job: u64, name: &str| bench.log(job).contains(&format!("/{name}/"));
    assert!(is_in(first, "builds"));
    // Requests with the earlier settings may be open.
    for attempt in 1.. {
        let next = bench.queue(&["pwd"]);
        bench.end_of(next).await;
        if is_in(next, "others") {
            break;
        }
        assert!(attempt < 20, "{}", bench.log(next));
    }
    runner.finish().await;
    bench.check();
}

#[derive(Debug, Default)]
struct Saved(Mutex<Vec<NewToken>>);

impl TokenStore for Saved {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn save(&self, _url: &Url, old: &SecretString, new: &NewToken) -> Result<(), String> {
        assert_eq!(old.expose(), TOKEN);
        self.0.lock().push(new.clone());
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_token_is_replaced_before_it_is_used() {
    let mut bench = Bench::new();
    let saved = Arc::new(Saved::default());
    bench.tokens = Some(saved.clone());
    let now = Timestamp::now().as_second();
    let at = |seconds: i64| Some(Timestamp::from_second(now + seconds).expect("a moment"));
    bench.settings.runners[0].token_obtained_at = at(-76);
    bench.settings.runners[0].token_expires_at = at(24);
    bench.server.next_runner_token("glrt-new");
    let id = bench.queue(&["echo hello"]);
    let runner = bench.start();
    bench.end_of(id).await;
    runner.finish().await;
    let calls = bench.server.calls();
    assert_eq!(calls[0].endpoint, Endpoint::ResetToken);
    let request = calls.iter().find(|it| it.endpoint == Endpoint::Request);
    assert_eq!(
        request.and_then(|it| it.header("runner-token")),
        Some("glrt-new")
    );
    assert_eq!(saved.0.lock().len(), 1);
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn features_are_those_of_client_runner_and_executor() {
    // R-EXEC-31, R-EXEC-103
    let bench = Bench::new();
    let id = bench.queue(&["echo hello"]);
    let runner = bench.start();
    bench.end_of(id).await;
    runner.finish().await;
    let calls = bench.server.calls();
    let info = |endpoint| {
        let call = calls
            .iter()
            .find(|it| it.endpoint == endpoint)
            .expect("a call");
        call.field("info").clone()
    };
    let request = info(Endpoint::Request);
    assert_eq!(request, info(Endpoint::UpdateRunning));
    assert_eq!(request, info(Endpoint::UpdateFinal));
    let features = request["features"].as_object().expect("features");
    let on = features
        .iter()
        .filter(|(_, on)| **on == json!(true))
        .map(|(name, _)| name.as_str());
    let mut on: Vec<&str> = on.collect();
    on.sort_unstable();
    assert_eq!(
        on,
        [
            "artifacts",
            "artifacts_exclude",
            "cache",
            "cancel_gracefully",
            "cancelable",
            "fallback_cache_keys",
            "masking",
            "multi_build_steps",
            "raw_variables",
            "refspecs",
            "return_exit_code",
            "shared",
            "trace_checksum",
            "trace_reset",
            "trace_size",
            "two_phase_job_commit",
            "upload_multiple_artifacts",
            "upload_raw_artifacts",
            "variables",
            "vault_secrets",
        ]
    );
}
