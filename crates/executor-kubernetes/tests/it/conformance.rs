//! The conformance suite on a real cluster.

use crate::support::{BUSYBOX, Cluster, job, runner_config};
use executor_kubernetes::EngineChoice;
use executor_testkit::{SuiteOptions, conformance};
use std::sync::Arc;
use std::time::Duration;

async fn check(engine: EngineChoice) {
    let restricted = ("pod-security.kubernetes.io/enforce", "restricted");
    let Some(mut cluster) = Cluster::with_labels(&[restricted]).await else {
        return;
    };
    cluster.config.engine = engine;
    let cluster = Arc::new(cluster);
    let asked = Arc::clone(&cluster);
    let left = move || {
        let asked = Arc::clone(&asked);
        // The suite blocks inside its runtime until the answer arrives.
        let answered = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(asked.left())
        });
        answered.join().unwrap()
    };
    let suite = SuiteOptions::new(runner_config())
        .job(job(BUSYBOX))
        .exit_codes([0, 1, 137, 255])
        .jobs(4)
        .output_bytes(26_000_000)
        .line_bytes(2_000_000)
        .memory_growth(24 * 1024 * 1024)
        .promptness(Duration::from_secs(30))
        .leftovers(left);
    conformance(cluster.provider(), suite).await.assert_passed();
    if let Some(cluster) = Arc::into_inner(cluster) {
        cluster.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_a_restricted_namespace_obey_the_contract() {
    // R-EXEC-101, R-STEP-52, R-STEP-53
    check(EngineChoice::Agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_without_the_agent_obey_the_contract() {
    // R-EXEC-101
    check(EngineChoice::Exec).await;
}
