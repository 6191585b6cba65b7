//! The driver with the executors that call it.

use crate::qemu;
use crate::support::Agent;
use executor_core::prelude::*;
use executor_core::{AcquireError, TraceStream};
use executor_custom::{CustomConfig, CustomOptions};
use executor_driver::DriverConfig;
use executor_testkit::{
    CommandBuilder, JobBuilder, OptionsBuilder, RecordingTrace, SuiteOptions, conformance, is_turn,
    marked_processes, runner_config,
};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DRIVER: &str = env!("CARGO_BIN_EXE_runwright-vm-driver");

/// The checks that machines of QEMU pass in two minutes: a script and its end, a request to stop, and what is left. The others concern
/// code that the suite with the agent runs too.
const QUICK: [&str; 8] = [
    "success",
    "exit_codes",
    "streams_are_apart",
    "raw_bytes",
    "cancel_terminates_first",
    "stop_during_prepare",
    "instances_are_independent",
    "cleanup_leaves_no_processes",
];

fn suite(executor: &str) -> SuiteOptions {
    let mut runner = runner_config(executor);
    runner.graceful_kill_timeout = Duration::from_secs(1);
    SuiteOptions::new(runner)
        .promptness(Duration::from_mins(1))
        .exit_codes([0, 1, 3, 255])
        .output_bytes(16 << 20)
        .line_bytes(1 << 20)
        .memory_growth(15 << 20)
        .jobs(5)
}

/// The suite with machines of the agent.
fn agent_suite(agent: &Arc<Agent>, executor: &str) -> SuiteOptions {
    let agent = Arc::clone(agent);
    suite(executor).leftovers(move || {
        let mut left = marked_processes();
        left.extend(agent.left());
        left
    })
}

/// Runs the suite with machines of QEMU: all of it, which takes ten minutes, with `RUNWRIGHT_TEST_QEMU_SUITE=whole`, else the quick checks
/// and those in `more`.
async fn check_qemu(
    agent: &Arc<Agent>,
    executor: &str,
    provider: Arc<dyn ExecutorProvider>,
    more: &[&str],
) {
    let host = Arc::clone(agent);
    let options = suite(executor).jobs(3).leftovers(move || qemu::left(&host));
    if std::env::var("RUNWRIGHT_TEST_QEMU_SUITE").is_ok_and(|it| it == "whole") {
        conformance(provider, options).await.assert_passed();
    } else {
        let options = options.only(QUICK.iter().chain(more).copied());
        conformance(provider, options).await.assert_part_passed();
    }
}

fn agent() -> Arc<Agent> {
    let agent = Agent::start();
    agent.set(&json!({ "limit": 100 }));
    with_token(agent)
}

fn with_token(agent: Agent) -> Arc<Agent> {
    std::fs::write(agent.path("token"), "secret\n").unwrap();
    agent.edit_settings("[jeballto]", "[jeballto]\ntoken-file = \"token\"");
    Arc::new(agent)
}

/// The driver as GitLab Runner calls it.
fn custom(agent: &Agent) -> Arc<dyn ExecutorProvider> {
    let config = agent.path("driver.toml").display().to_string();
    let arguments = |stage: &str| ["--config", &config, stage].map(str::to_owned).to_vec();
    let options = CustomOptions::new(CustomConfig {
        config_exec: DRIVER.to_owned(),
        config_args: arguments("config"),
        prepare_exec: DRIVER.to_owned(),
        prepare_args: arguments("prepare"),
        run_exec: DRIVER.to_owned(),
        run_args: arguments("run"),
        cleanup_exec: DRIVER.to_owned(),
        cleanup_args: arguments("cleanup"),
        ..CustomConfig::default()
    });
    Arc::new(executor_custom::provider(options))
}

/// The driver as one process.
fn typed(agent: &Agent) -> Arc<dyn ExecutorProvider> {
    let config = agent.path("driver.toml").display().to_string();
    Arc::new(executor_driver::provider(DriverConfig::new([
        DRIVER, "--config", &config, "serve",
    ])))
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_protocol_obeys_the_contract() {
    // R-VM-01, R-EXEC-102
    let agent = agent();
    conformance(custom(&agent), agent_suite(&agent, "custom"))
        .await
        .assert_passed();
    agent.assert_nothing_remains();
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_protocol_obeys_the_contract() {
    let agent = agent();
    let provider = typed(&agent);
    conformance(Arc::clone(&provider), agent_suite(&agent, "driver"))
        .await
        .assert_passed();
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
    agent.assert_nothing_remains();
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_protocol_with_qemu_obeys_the_contract() {
    if !is_turn(0, 2) {
        return;
    }
    let agent = Arc::new(qemu::host("most = 4", ""));
    check_qemu(&agent, "custom", custom(&agent), &[]).await;
    qemu::assert_no_machine(&agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_protocol_with_qemu_obeys_the_contract() {
    if !is_turn(1, 2) {
        return;
    }
    let agent = Arc::new(qemu::host("most = 4", ""));
    let provider = typed(&agent);
    let more = ["file_variables", "file_transfer"];
    check_qemu(&agent, "driver", Arc::clone(&provider), &more).await;
    provider.shutdown(Duration::from_mins(1)).await.unwrap();
    qemu::assert_no_machine(&agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_the_typed_protocol_wait_before_they_begin() {
    let agent = agent();
    agent.set(&json!({ "limit": 2 }));
    agent.edit_settings("[jeballto]", "[jeballto]\nmost = 2");
    let provider = typed(&agent);
    let mut jobs = tokio::task::JoinSet::new();
    for id in 1..=20 {
        jobs.spawn(run_when_there_is_room(Arc::clone(&provider), id));
    }
    jobs.join_all().await;
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
    // The agent was never full.
    let requests = agent.requests();
    let starts = requests.iter().filter(|it| *it == "POST /vms/ID/start");
    assert_eq!(starts.count(), 20, "{requests:?}");
    agent.assert_nothing_remains();
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_of_a_failed_job_is_kept_by_the_typed_protocol_too() {
    let agent = Agent::start();
    agent.write_settings("keep-failed = true", "");
    let agent = with_token(agent);
    let (config, go_on) = (runner_config("driver"), Cancellation::new());
    for (id, script) in [(1, "exit 3"), (2, "true")] {
        // A new process leaves what was kept.
        let provider = typed(&agent);
        let data = provider.acquire(&config, &go_on).await.unwrap();
        let mut executor = provider.create(&data).unwrap();
        let options = OptionsBuilder::new().job(JobBuilder::new(id).build());
        executor.prepare(options.build(), &go_on).await.unwrap();
        let command = CommandBuilder::new(script).working_dir("/");
        executor.run(command.build(), &go_on).await.unwrap();
        let is_connected = || {
            agent
                .stored()
                .iter()
                .any(|it| it.strip_suffix(".ssh").is_some())
        };
        qemu::wait_until(is_connected);
        executor.cleanup().await.unwrap();
        assert!(!is_connected(), "{script}");
        provider.release(&config, data).await;
        provider.shutdown(Duration::from_secs(20)).await.unwrap();
        assert_eq!(agent.machines().len(), 1, "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_of_the_typed_protocol_that_failed_can_be_repeated() {
    let agent = agent();
    agent.edit_settings("cleanup = 60", "cleanup = 2");
    let provider = typed(&agent);
    let (config, go_on) = (runner_config("driver"), Cancellation::new());
    let data = provider.acquire(&config, &go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    let options = OptionsBuilder::new().build();
    executor.prepare(options, &go_on).await.unwrap();
    agent.set(&json!({ "fail": -1 }));
    let error = executor.cleanup().await.unwrap_err().to_string();
    assert!(error.contains("the cleanup is incomplete"), "{error}");
    agent.set(&json!({ "fail": 0 }));
    assert_eq!(agent.machines().len(), 1);
    executor.cleanup().await.unwrap();
    agent.assert_nothing_remains();
    provider.release(&config, data).await;
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_of_the_typed_protocol_share_a_connection() {
    let agent = agent();
    let provider = typed(&agent);
    let (config, go_on) = (runner_config("driver"), Cancellation::new());
    let data = provider.acquire(&config, &go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    let trace = RecordingTrace::new();
    let options = OptionsBuilder::new().trace(Arc::new(trace.clone())).build();
    executor.prepare(options, &go_on).await.unwrap();
    let stored = agent.stored();
    let name = stored.iter().find_map(|it| it.strip_suffix(".json"));
    let socket = agent.path(&format!("vm-driver/{}.ssh", name.unwrap()));
    let mut ports = Vec::new();
    for break_it in [false, false, true, false] {
        let begun = Instant::now();
        while !socket.exists() {
            assert!(begun.elapsed() < Duration::from_mins(1), "no connection");
            // One that failed is replaced with the next script.
            let command = CommandBuilder::new("true").working_dir("/");
            executor.run(command.build(), &go_on).await.unwrap();
        }
        if break_it {
            crate::scripts::forward(&agent, "DELETE");
        }
        let command = CommandBuilder::new("echo \"$SSH_CONNECTION\"").working_dir("/");
        let result = executor.run(command.build(), &go_on).await.unwrap();
        assert!(result.status.is_success(), "{result:?}");
        let printed = trace.text(TraceStream::STDOUT);
        let line = printed.lines().last().unwrap();
        ports.push(line.split(' ').nth(1).unwrap().to_owned());
    }
    assert_eq!(ports[0], ports[1]);
    // A broken one is replaced, and no script needs it.
    assert_ne!(ports[1], ports[2]);
    executor.cleanup().await.unwrap();
    provider.release(&config, data).await;
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
    agent.assert_nothing_remains();
}

async fn run_when_there_is_room(provider: Arc<dyn ExecutorProvider>, id: u64) {
    let (config, go_on) = (runner_config("driver"), Cancellation::new());
    let data = loop {
        match provider.acquire(&config, &go_on).await {
            Ok(data) => break data,
            Err(AcquireError::NoFreeExecutor) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{error}"),
        }
    };
    let mut executor = provider.create(&data).unwrap();
    let options = OptionsBuilder::new()
        .config(config.clone())
        .job(JobBuilder::new(id).build())
        .build();
    executor.prepare(options, &go_on).await.unwrap();
    executor.cleanup().await.unwrap();
    provider.release(&config, data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_of_a_job_has_the_lines_of_its_machine_alone() {
    let agent = agent();
    let provider = typed(&agent);
    let (config, go_on) = (runner_config("driver"), Cancellation::new());
    let mut jobs = Vec::new();
    for id in [1, 2] {
        let data = provider.acquire(&config, &go_on).await.unwrap();
        let mut executor = provider.create(&data).unwrap();
        let trace = RecordingTrace::new();
        let options = OptionsBuilder::new()
            .job(JobBuilder::new(id).build())
            .trace(Arc::new(trace.clone()));
        executor.prepare(options.build(), &go_on).await.unwrap();
        jobs.push((executor, trace, data));
    }
    // The first cleanup has something to say.
    agent.set(&json!({ "fail": 1 }));
    let mut logs = Vec::new();
    for (mut executor, trace, data) in jobs {
        executor.cleanup().await.unwrap();
        provider.release(&config, data).await;
        logs.push(trace.text(TraceStream::SYSTEM));
    }
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
    for log in &logs {
        assert_eq!(log.matches("driver: the machine ").count(), 1, "{logs:?}");
    }
    let retried = |log: &String| log.contains("driver: disable SSH: ");
    assert!(retried(&logs[0]) && !retried(&logs[1]), "{logs:?}");
    agent.assert_nothing_remains();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_failures_that_may_pass_are_tried_again() {
    let agent = agent();
    for (token, machine, is_temporary, words) in [
        ("secret", "error", true, "the agent reports the state"),
        ("wrong", "running", false, "the agent refuses the token"),
    ] {
        std::fs::write(agent.path("token"), token).unwrap();
        agent.set(&json!({ "machine": machine }));
        let provider = typed(&agent);
        let (config, go_on) = (runner_config("driver"), Cancellation::new());
        let data = provider.acquire(&config, &go_on).await.unwrap();
        let mut executor = provider.create(&data).unwrap();
        let prepared = executor.prepare(OptionsBuilder::new().build(), &go_on);
        let error = prepared.await.unwrap_err();
        assert_eq!(error.is_temporary(), is_temporary, "{error:?}");
        assert!(error.chain().contains(words), "{error:?}");
        let _ = executor.cleanup().await;
        provider.release(&config, data).await;
        provider.shutdown(Duration::from_secs(20)).await.unwrap();
    }
}
