//! Fuzzing by libFuzzer with coverage counters, on the stable toolchain.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::run;
use crate::workspace::Workspace;

/// The rustc flags with which libFuzzer sees the code that an input reaches.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions=on \
    -Coverflow-checks=on";

/// With an explicit target, build scripts and macros are built without the flags.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// A slower input counts as a failure.
const SLOWEST: Duration = Duration::from_secs(10);

/// An input that needs more memory counts as a failure.
const LARGEST_MIB: u32 = 1024;

/// What is to be fuzzed, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What gets the input: loader, expression, interpolation or glob
    target: String,
    /// How long, in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// How long an input may be, in bytes
    #[arg(long, default_value_t = 4096)]
    longest: u32,
}

/// Builds the program for one target and fuzzes it.
///
/// Input that reaches new code is kept in the target folder, where the next run continues with it; failing inputs are
/// written beside it.
///
/// # Errors
///
/// Fails when the build fails, and when the fuzzer finds a failing input.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let program = format!("fuzz-{}", options.target);
    let folder = workspace.target_directory.join("fuzz");
    let mut build = run::cargo();
    build
        .current_dir(&workspace.root)
        .env("RUSTFLAGS", FLAGS)
        .args([
            "build",
            "--release",
            "--package",
            "fuzz",
            "--features",
            "libfuzzer",
            "--target",
            PLATFORM,
            "--bin",
        ]);
    run::run(build.arg(&program).arg("--target-dir").arg(&folder))?;

    let found = folder.join("found").join(&options.target);
    fs::create_dir_all(&found).context("make a folder for what is found")?;
    let mut fuzzer =
        std::process::Command::new(folder.join(PLATFORM).join("release").join(&program));
    fuzzer
        .current_dir(&found)
        .arg(&found)
        .arg(workspace.root.join("fuzz/corpus").join(&options.target))
        .arg(format!("-max_total_time={}", options.seconds))
        .arg(format!("-max_len={}", options.longest))
        .arg(format!("-timeout={}", SLOWEST.as_secs()))
        .arg(format!("-rss_limit_mb={LARGEST_MIB}"))
        .args(["-print_final_stats=1", "-verbosity=0"]);
    run::run(&mut fuzzer).context("an input was found; it lies where the lines above say")
}
