use crate::support;
use executor_core::prelude::*;
use executor_testkit::{SuiteOptions, conformance, marked_processes, runner_config};
use std::time::Duration;
use tokio::runtime::Handle;

/// The documented driver obeys the whole contract.
#[tokio::test(flavor = "multi_thread")]
async fn example_driver() {
    // R-EXEC-02
    let provider = Arc::new(support::host());
    let mut runner = runner_config("driver");
    runner.graceful_kill_timeout = Duration::from_secs(1);
    let held = Arc::clone(&provider);
    let options = SuiteOptions::new(runner)
        .promptness(Duration::from_mins(1))
        .leftovers(move || {
            let mut left = marked_processes();
            let held = held.held();
            left.extend(tokio::task::block_in_place(|| Handle::current().block_on(held)).unwrap());
            left
        });
    let report = conformance(Arc::clone(&provider) as Arc<dyn ExecutorProvider>, options).await;
    report.assert_passed();
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
}
