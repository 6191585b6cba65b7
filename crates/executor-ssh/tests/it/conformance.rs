//! The conformance suite, with the agent and without.

use crate::support::run::{config, options, runner_config};
use crate::support::sshd::Sshd;
use executor_ssh::{EngineChoice, provider};
use executor_testkit::{SuiteOptions, conformance};
use std::sync::Arc;
use std::time::Duration;

async fn check(engine: EngineChoice) {
    // R-EXEC-100
    let server = Sshd::with("MaxStartups 100\n");
    let jobs = server.home().join(".cache/runwright/jobs");
    let left = move || {
        let entries = std::fs::read_dir(&jobs).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().path().display().to_string())
            .collect()
    };
    let suite = SuiteOptions::new(runner_config())
        .exit_codes([0, 1, 137, 255])
        .jobs(4)
        .output_bytes(26_000_000)
        .line_bytes(2_000_000)
        .memory_growth(24 * 1024 * 1024)
        .promptness(Duration::from_secs(30))
        .leftovers(left);
    let provider = provider(options(config(&server, server.port, engine)));
    conformance(Arc::new(provider), suite).await.assert_passed();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_agent() {
    check(EngineChoice::Agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_agent() {
    check(EngineChoice::Shell).await;
}
