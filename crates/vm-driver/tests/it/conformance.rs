//! The driver with the executors that call it.

use crate::support::Agent;
use executor_core::prelude::*;
use executor_custom::{CustomConfig, CustomOptions};
use executor_driver::DriverConfig;
use executor_testkit::{SuiteOptions, conformance, marked_processes, runner_config};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const DRIVER: &str = env!("CARGO_BIN_EXE_runwright-vm-driver");

fn suite(agent: &Arc<Agent>, executor: &str) -> SuiteOptions {
    let mut runner = runner_config(executor);
    runner.graceful_kill_timeout = Duration::from_secs(1);
    let agent = Arc::clone(agent);
    SuiteOptions::new(runner)
        .promptness(Duration::from_mins(1))
        .exit_codes([0, 1, 3, 255])
        .output_bytes(16 << 20)
        .line_bytes(1 << 20)
        .memory_growth(15 << 20)
        .jobs(5)
        .leftovers(move || {
            let mut left = marked_processes();
            left.extend(agent.left());
            left
        })
}

fn agent() -> Arc<Agent> {
    let agent = Agent::start();
    agent.set(&json!({ "limit": 100 }));
    std::fs::write(agent.path("token"), "secret\n").unwrap();
    agent.edit_settings("[jeballto]", "[jeballto]\ntoken-file = \"token\"");
    Arc::new(agent)
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_protocol_obeys_the_contract() {
    // R-VM-01, R-EXEC-102
    let agent = agent();
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
    let provider = executor_custom::provider(options);
    conformance(Arc::new(provider), suite(&agent, "custom"))
        .await
        .assert_passed();
    agent.assert_nothing_remains();
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_protocol_obeys_the_contract() {
    let agent = agent();
    let config = agent.path("driver.toml").display().to_string();
    let provider = Arc::new(executor_driver::provider(DriverConfig::new([
        DRIVER, "--config", &config, "serve",
    ])));
    let tested = Arc::clone(&provider) as Arc<dyn ExecutorProvider>;
    conformance(tested, suite(&agent, "driver"))
        .await
        .assert_passed();
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
    agent.assert_nothing_remains();
}
