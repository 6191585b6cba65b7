//! The cost of a stage through a driver of the custom executor, compared with a bare start of the same driver.
//!
//! `cargo bench -p benches --bench custom_driver`. `DRIVER_ROUNDS` sets the number of stages, 300 by default. Goal: 1.5x.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use benches::statistics::median;
use executor_core::prelude::*;
use executor_custom::{CustomConfig, CustomOptions};
use executor_testkit::{CommandBuilder, OptionsBuilder, RecordingTrace, runner_config};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const DRIVER: &str = "#!/bin/sh\nexec \"$@\"\n";

fn main() {
    let rounds = std::env::var("DRIVER_ROUNDS").ok();
    let rounds: usize = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(300);
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(measure(rounds));
}

async fn measure(rounds: usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let driver = directory.path().join("driver");
    std::fs::write(&driver, DRIVER).expect("written");
    std::fs::set_permissions(&driver, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let builds = directory.path().to_str().expect("text");
    let mut config = runner_config("custom");
    config.builds_dir = Some(builds.to_owned());
    config.shell = Some(ShellDialect::Sh);
    let trace = RecordingTrace::new();
    let options = OptionsBuilder::new()
        .config(config)
        .trace(Arc::new(trace.clone()));
    let provider = executor_custom::provider(CustomOptions::new(CustomConfig {
        run_exec: driver.to_str().expect("text").to_owned(),
        ..CustomConfig::default()
    }));
    let go_on = Cancellation::new();
    let mut executor = provider.create(&ExecutorData::new()).expect("an executor");
    executor
        .prepare(options.build(), &go_on)
        .await
        .expect("prepared");
    let stage = |script: &str| CommandBuilder::new(script).working_dir(builds).build();
    executor
        .run(stage("echo \"$0\""), &go_on)
        .await
        .expect("a stage");
    let printed = trace.text(TraceStream::STDOUT);
    // The bare driver runs the script of the first stage that prints nothing, as every later one.
    let script = printed.trim().replace("script1/", "script2/");
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // Alternating, so that noise of the machine affects both.
    for _ in 0..rounds {
        let start = Instant::now();
        let result = executor.run(stage(":"), &go_on).await.expect("a stage");
        assert!(result.status.is_success());
        ours.push(start.elapsed());
        bare.push(bare_start(&driver, &script));
    }
    executor.cleanup().await.expect("cleaned up");
    let (ours, bare) = (median(&ours), median(&bare));
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    println!("one stage, driver = exec \"$@\"; medians of {rounds}");
    println!(
        "{:<40} {:>8.3} ms   1.00x",
        "bare start of the driver",
        bare.as_secs_f64() * 1e3
    );
    println!(
        "{:<40} {:>8.3} ms {ratio:>6.2}x, goal 1.5x",
        "run of the executor",
        ours.as_secs_f64() * 1e3
    );
}

fn bare_start(driver: &Path, script: &str) -> Duration {
    let start = Instant::now();
    #[expect(clippy::disallowed_methods, reason = "the floor to compare with")]
    let output = std::process::Command::new(driver)
        .args([script, "build_script"])
        .output();
    assert!(output.expect("the driver starts").status.success());
    start.elapsed()
}
