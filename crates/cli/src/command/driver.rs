//! `runwright driver check`: runs a driver through the conformance suite.

use super::stdout::{print, print_json};
use crate::args::{DriverAction, DriverArgs, DriverCheckArgs, DriverProtocol};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::{Context, anyhow};
use console::terminal::Signals;
use console::{Style, Tone, error_line, strip_controls};
use executor_core::{Cancellation, ExecutorProvider, RunnerConfig, chain};
use executor_driver::{DriverConfig, DriverProvider};
use executor_testkit::{
    CheckReport, Report, SuiteOptions, Verdict, conformance, is_check, marked_processes,
    runner_config,
};
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How long a driver may take to end after the checks.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Runs the requested subcommand for drivers.
pub(crate) fn driver(args: &DriverArgs) -> Result<Exit, Failure> {
    match &args.action {
        DriverAction::Check(args) => check(args),
    }
}

/// A driver under test.
struct Tested {
    provider: Arc<dyn ExecutorProvider>,
    config: RunnerConfig,
    options: SuiteOptions,
}

fn check(args: &DriverCheckArgs) -> Result<Exit, Failure> {
    if let Some(unknown) = args.only.iter().find(|name| !is_check(name)) {
        let error = anyhow!("there is no check {:?}", strip_controls(unknown));
        return Err(
            Failure::usage(error).with_help("without `--only` all checks run and are named")
        );
    }
    let tested = match args.protocol {
        DriverProtocol::Typed => typed(args),
    };
    let runtime = runtime::start()?;
    let report = runtime.block_on(async {
        let mut signals = Signals::listen()
            .context("listen to signals")
            .map_err(Failure::environment)?;
        let cancellation = Cancellation::new();
        let checked = run(&tested, !args.json && args.only.is_empty());
        let report = tokio::select! {
            report = checked => Ok(report),
            () = signals.drive(&cancellation, |_| {}) => Err(Failure::interrupted()),
            _ = cancellation.canceled() => Err(Failure::interrupted()),
        };
        let stopped = tested.provider.shutdown(SHUTDOWN).await;
        report.and_then(|report| stopped.map(|()| report).map_err(Failure::environment))
    })?;
    if args.json {
        print_json(&JsonReport::of(&report))?;
    } else {
        print(shown(&report, Style::of_stdout()))?;
    }
    Ok(if report.failed().is_empty() {
        Exit::Success
    } else {
        Exit::JobFailed
    })
}

/// Returns a driver of our own protocol.
fn typed(args: &DriverCheckArgs) -> Tested {
    let provider = Arc::new(executor_driver::provider(DriverConfig::new(&args.command)));
    let mut config = runner_config(executor_driver::NAME);
    config.graceful_kill_timeout = Duration::from_secs(1);
    let holder = Arc::clone(&provider);
    // The suite asks for leftovers when no job runs; processes on other hosts are the driver's own to report.
    let options = SuiteOptions::new(config.clone())
        .only(args.only.iter().cloned())
        .jobs(args.jobs)
        .leftovers(move || {
            let mut left = marked_processes();
            left.extend(held(&holder));
            left
        });
    Tested {
        provider,
        config,
        options,
    }
}

/// Returns what a driver says it still holds.
fn held(provider: &DriverProvider) -> Vec<String> {
    let held = provider.held();
    match tokio::task::block_in_place(|| Handle::current().block_on(held)) {
        Ok(held) => held,
        Err(error) => vec![format!(
            "unknown, since the driver reports no status: {}",
            chain(&error)
        )],
    }
}

/// Runs the suite, after a first call that shows whether the driver starts at all.
async fn run(tested: &Tested, is_announced: bool) -> Report {
    let started = Instant::now();
    let acquired = tested
        .provider
        .acquire(&tested.config, &Cancellation::new())
        .await;
    let verdict = match acquired {
        Ok(data) => {
            tested.provider.release(&tested.config, data).await;
            Verdict::Passed
        }
        Err(error) => Verdict::Failed(chain(&error)),
    };
    let is_started = verdict == Verdict::Passed;
    let first = CheckReport {
        name: "start",
        contract: "The driver starts, describes itself, and has capacity for a job.",
        verdict,
        duration: started.elapsed(),
    };
    let mut report = Report {
        checks: vec![first],
        ..Report::default()
    };
    if is_started {
        if is_announced {
            error_line("running the checks; they take from ten seconds to some minutes");
        }
        let rest = conformance(Arc::clone(&tested.provider), tested.options.clone()).await;
        report.checks.extend(rest.checks);
        report.left_out = rest.left_out;
    }
    report
}

/// Returns the report as text: failures with what was expected and what came.
fn shown(report: &Report, style: Style) -> String {
    let mut text = String::new();
    for check in &report.checks {
        // Writing to a string cannot fail.
        let _ = match &check.verdict {
            Verdict::Passed => writeln!(
                text,
                "{}   {}",
                style.paint(Tone::Good, "passed"),
                check.name
            ),
            Verdict::Skipped(reason) => {
                let reason = strip_controls(reason);
                writeln!(text, "skipped  {}: {reason}", check.name)
            }
            Verdict::Failed(found) => {
                let found = strip_controls(found).replace('\n', "\n           ");
                writeln!(
                    text,
                    "{}   {}\n  expected {}\n  found    {found}",
                    style.paint(Tone::Bad, "FAILED"),
                    check.name,
                    check.contract,
                )
            }
        };
    }
    let (failed, skipped) = (report.failed().len(), report.skipped().len());
    let passed = report.checks.len() - failed - skipped;
    let _ = writeln!(
        text,
        "\n{passed} passed, {failed} failed, {skipped} skipped"
    );
    text
}

#[derive(Serialize)]
struct JsonReport<'a> {
    passed: bool,
    checks: Vec<JsonCheck<'a>>,
}

#[derive(Serialize)]
struct JsonCheck<'a> {
    name: &'a str,
    /// `passed`, `failed` or `skipped`.
    result: &'static str,
    /// The sentence of the contract.
    expected: &'a str,
    /// What came instead, or why the check was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'a str>,
    seconds: f64,
}

impl<'a> JsonReport<'a> {
    fn of(report: &'a Report) -> Self {
        let checks = report.checks.iter().map(|check| {
            let (result, found) = match &check.verdict {
                Verdict::Passed => ("passed", None),
                Verdict::Failed(found) => ("failed", Some(found.as_str())),
                Verdict::Skipped(reason) => ("skipped", Some(reason.as_str())),
            };
            JsonCheck {
                name: check.name,
                result,
                expected: check.contract,
                found,
                seconds: check.duration.as_secs_f64(),
            }
        });
        Self {
            passed: report.failed().is_empty(),
            checks: checks.collect(),
        }
    }
}
