use crate::custom_executor_example::ScratchProvider;
use executor_testkit::{SuiteOptions, conformance, runner_config};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_to_the_contract() {
    let mut config = runner_config("scratch");
    config.graceful_kill_timeout = Duration::from_secs(1);
    // What a shell can do is tested in full where the shell executor is.
    let options = SuiteOptions::new(config)
        .exit_codes([0, 1, 2, 126, 127, 128, 137, 255])
        .jobs(10);
    let provider = Arc::new(ScratchProvider::new().unwrap());
    conformance(provider, options).await.assert_passed();
}
