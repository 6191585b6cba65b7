use crate::custom_executor_example::ScratchProvider;
use executor_testkit::{SuiteOptions, conformance, runner_config};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn custom_executor_passes_the_conformance_suite() {
    let mut config = runner_config("scratch");
    config.graceful_kill_timeout = Duration::from_secs(1);
    // The tests of the shell executor cover the abilities of a shell in full.
    let options = SuiteOptions::new(config)
        .exit_codes([0, 1, 2, 126, 127, 128, 137, 255])
        .jobs(10);
    let provider = Arc::new(ScratchProvider::new().unwrap());
    conformance(provider, options).await.assert_passed();
}
