use crate::support;
use executor_core::prelude::*;
use executor_shell::{Containment, ShellConfig, provider};
use executor_testkit::{SuiteOptions, conformance};
use std::time::Duration;

async fn check(
    config: ShellConfig,
    dialect: ShellDialect,
    change: impl FnOnce(SuiteOptions) -> SuiteOptions,
) {
    let directory = tempfile::tempdir().unwrap();
    let mut runner = support::runner(directory.path());
    runner.shell = Some(dialect);
    runner.graceful_kill_timeout = Duration::from_secs(1);
    let options = SuiteOptions::new(runner).promptness(Duration::from_mins(1));
    let options = change(options);
    conformance(Arc::new(provider(config)), options)
        .await
        .assert_passed();
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_in_cgroups() {
    let config = ShellConfig {
        login: false,
        ..ShellConfig::default()
    };
    check(config, ShellDialect::Bash, |options| options).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sh_without_cgroups() {
    let containment = Containment::NoCgroup;
    let config = ShellConfig {
        login: false,
        containment,
        ..ShellConfig::default()
    };
    check(config, ShellDialect::Sh, |options| options).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn login_shell() {
    // A profile may take long, and it is read for each stage.
    let few = |options: SuiteOptions| options.exit_codes([0, 1, 255]).jobs(5);
    check(ShellConfig::default(), ShellDialect::Bash, few).await;
}
