use crate::driver::{FIXTURES, processes_of};
use executor_core::prelude::*;
use executor_custom::{CustomConfig, CustomOptions, provider};
use executor_testkit::{SuiteOptions, conformance, runner_config};
use std::path::Path;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn driver_of_this_host_obeys_the_contract() {
    // R-EXEC-02, R-EXEC-102
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    std::fs::write(&notes, "").unwrap();
    let path = |name: &str| Some(directory.path().join(name).to_str().unwrap().to_owned());
    let mut runner = runner_config("custom");
    runner.cache_dir = path("cache");
    runner.graceful_kill_timeout = Duration::from_secs(1);
    for shell in [ShellDialect::Bash, ShellDialect::Sh] {
        runner.shell = Some(shell);
        runner.builds_dir = path(&format!("builds-{shell}"));
        let arguments = |phase: &str| {
            let notes = notes.to_str().unwrap();
            [&format!("{FIXTURES}/driver.sh"), notes, phase]
                .map(str::to_owned)
                .to_vec()
        };
        let mut options = CustomOptions::new(CustomConfig {
            config_exec: "sh".to_owned(),
            config_args: arguments("config"),
            run_exec: "sh".to_owned(),
            run_args: arguments("run"),
            cleanup_exec: "sh".to_owned(),
            cleanup_args: arguments("cleanup"),
            ..CustomConfig::default()
        });
        options.output_grace = Duration::from_millis(500);
        let of_suite = notes.clone();
        let leftovers = move || {
            let text = std::fs::read_to_string(&of_suite).unwrap();
            let mut left = Vec::new();
            for private in text.lines() {
                if Path::new(private).exists() {
                    left.push(private.to_owned());
                }
                left.extend(processes_of(private));
            }
            left
        };
        let mut suite = SuiteOptions::new(runner.clone())
            .promptness(Duration::from_mins(1))
            .leftovers(leftovers)
            .jobs(20);
        if shell == ShellDialect::Sh {
            suite = suite.exit_codes([0, 1, 2, 255]).jobs(5);
        }
        conformance(Arc::new(provider(options)), suite)
            .await
            .assert_passed();
    }
}
