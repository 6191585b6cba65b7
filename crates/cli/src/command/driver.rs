//! `runwright driver check`: runs a driver through the conformance suite.

use super::stdout::{print, print_json};
use super::{custom_config, driver_config};
use crate::args::{DriverAction, DriverArgs, DriverCheckArgs, DriverProtocol};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::{Context, anyhow};
use console::terminal::Signals;
use console::{Style, Tone, error_line, strip_controls};
use executor_core::{CancelCause, Cancellation, ExecutorProvider, RunnerConfig, chain};
use executor_custom::{CustomConfig, CustomOptions};
use executor_driver::{Description, DriverConfig, DriverProvider};
use executor_testkit::{
    CheckReport, Report, SuiteOptions, Verdict, check_names, conformance, marked_processes,
    runner_config,
};
use parking_lot::Mutex;
use serde::Serialize;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use workstation::{LocalError, Settings, StateDir, Supervisor, end_orphans, supervise};
use yaml::suggest::did_you_mean;

/// The check before those of the suite.
const START: &str = "start";
/// The check that runs a script and reads its output, without which no other passes.
const SUCCESS: &str = "success";
/// The exit codes of one check: the usual ones, and those where a driver might confuse codes and signals. All of them take minutes where a
/// script takes a second.
const EXIT_CODES: [u8; 16] = [
    0, 1, 2, 3, 7, 42, 64, 100, 126, 127, 128, 129, 130, 137, 143, 255,
];
/// How long a driver may take to end after the checks.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Runs the requested subcommand for drivers.
pub(crate) fn driver(args: &DriverArgs) -> Result<Exit, Failure> {
    match &args.action {
        DriverAction::Check(args) => check(args),
    }
}

/// What failed checks found, each with the first of them.
type Failures = Vec<(&'static str, String)>;

/// A driver under test.
struct Tested {
    provider: Arc<dyn ExecutorProvider>,
    config: RunnerConfig,
    options: SuiteOptions,
    /// Returns what the driver says about itself, once it has started.
    described: Box<dyn Fn() -> Option<Description>>,
}

fn check(args: &DriverCheckArgs) -> Result<Exit, Failure> {
    // The first check always runs, and may be named.
    let names: Vec<_> = [START].into_iter().chain(check_names()).collect();
    if let Some(unknown) = args.only.iter().find(|it| !names.contains(&it.as_str())) {
        let error = anyhow!("there is no check {:?}", strip_controls(unknown));
        let help = did_you_mean(unknown, names.iter().copied());
        let help = help.unwrap_or_else(|| format!("the checks are {}", names.join(", ")));
        return Err(Failure::usage(error).with_help(help));
    }
    let state = StateDir::of_user().map_err(LocalError::from)?;
    // What an earlier process left when it was killed, guardian included.
    end_orphans(&state)?;
    let runtime = runtime::start()?;
    let (report, driver) = runtime.block_on(async {
        let supervisor = supervise(&state)?;
        let tested = match protocol(args)? {
            DriverProtocol::Typed => typed(args, &supervisor)?,
            DriverProtocol::Custom => custom(args, &supervisor)?,
        };
        let mut signals = Signals::listen()
            .context("listen to signals")
            .map_err(Failure::environment)?;
        let stop = Cancellation::new();
        let report = tokio::select! {
            report = run(&tested, args, &stop) => Ok(report),
            () = signals.drive(&stop, |count| {
                if count == 1 {
                    error_line("stopping the check under way; Ctrl-C again stops now");
                }
            }) => Err(Failure::interrupted()),
            _ = stop.aborted() => Err(Failure::interrupted()),
        };
        let driver = (tested.described)();
        let stopped = tested.provider.shutdown(SHUTDOWN).await;
        drop(tested);
        supervisor.shutdown().await.map_err(Failure::environment)?;
        let report = report?;
        stopped.map_err(Failure::environment)?;
        if stop.is_canceled() {
            return Err(Failure::interrupted());
        }
        Ok((report, driver))
    })?;
    if args.json {
        print_json(&JsonReport::of(&report, driver.as_ref()))?;
    } else {
        print(summary(&report, driver.as_ref()))?;
        if let Some(help) = help(&report, args) {
            error_line(&format!("help: {help}"));
        }
    }
    Ok(if report.failed().is_empty() {
        Exit::Success
    } else {
        Exit::JobFailed
    })
}

/// Returns the protocol of the driver. None is started to find out: a program might do something without arguments.
fn protocol(args: &DriverCheckArgs) -> Result<DriverProtocol, Failure> {
    if let Some(protocol) = args.protocol {
        return Ok(protocol);
    }
    let is_custom = match &args.command[..] {
        [path, ..] if args.command.len() > 1 && Path::new(path).is_dir() => {
            let path = strip_controls(path);
            let error = anyhow!("{path} is a directory of programs, which takes no arguments");
            return Err(Failure::usage(error).with_help(
                "name arguments of the programs as `*-args` in section [custom] of your settings, and check it without a command",
            ));
        }
        [] => {
            let settings = settings()?;
            let has = |section| !settings.section(section).is_empty();
            has("custom") && !has("driver")
        }
        [path] => Path::new(path).is_dir(),
        _ => false,
    };
    Ok(if is_custom {
        DriverProtocol::Custom
    } else {
        DriverProtocol::Typed
    })
}

fn settings() -> Result<Settings, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let directory = std::env::current_dir().map_err(Failure::environment)?;
    let home = std::env::home_dir();
    let settings = Settings::of_project(&directory, state.path(), home.as_deref());
    Ok(settings.map_err(LocalError::from)?)
}

/// Returns a driver of our own protocol.
fn typed(args: &DriverCheckArgs, supervisor: &Supervisor) -> Result<Tested, Failure> {
    let mut driver = if args.command.is_empty() {
        driver_config::of_settings(&settings()?)?
    } else {
        DriverConfig::new(&args.command)
    };
    driver.supervisor = Some(supervisor.clone());
    let provider = Arc::new(executor_driver::provider(driver));
    let holder = Arc::clone(&provider);
    let held = move || held(&holder);
    let mut tested = Tested::new(
        args,
        executor_driver::NAME,
        Arc::clone(&provider) as _,
        held,
    );
    tested.described = Box::new(move || provider.description());
    Ok(tested)
}

/// Returns a driver of GitLab's protocol.
fn custom(args: &DriverCheckArgs, supervisor: &Supervisor) -> Result<Tested, Failure> {
    let mut options = if args.command.is_empty() {
        custom_config::options(&settings()?)?
    } else {
        CustomOptions {
            builds_dir: Some("builds".to_owned()),
            ..CustomOptions::new(programs(&args.command)?)
        }
    };
    options.supervisor = Some(supervisor.clone());
    let provider = Arc::new(executor_custom::provider(options));
    Ok(Tested::new(args, executor_custom::NAME, provider, Vec::new))
}

impl Tested {
    /// Returns a driver with the options of its suite; `held` says what a driver keeps outside of this host.
    fn new(
        args: &DriverCheckArgs,
        name: &str,
        provider: Arc<dyn ExecutorProvider>,
        held: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        let mut config = runner_config(name);
        config.graceful_kill_timeout = Duration::from_secs(1);
        // The suite asks for leftovers when no job runs; processes on other hosts are the driver's own to report.
        let options = SuiteOptions::new(config.clone())
            .exit_codes(EXIT_CODES)
            .only(args.only.iter().filter(|it| *it != START).cloned())
            .leftovers(move || {
                let mut left = marked_processes();
                left.extend(held());
                left
            });
        let options = match args.jobs {
            1 => options.room_for_one(),
            jobs => options.jobs(jobs),
        };
        Self {
            provider,
            config,
            options,
            described: Box::new(|| None),
        }
    }
}

/// Returns the programs of a driver of GitLab's protocol: those in a directory, one for each phase or `run` alone.
fn programs(command: &[String]) -> Result<CustomConfig, Failure> {
    if let [path] = command
        && Path::new(path).is_dir()
    {
        return programs_in(Path::new(path));
    }
    let of_phase = |phase: &str| {
        let mut words = command.iter().map(|word| word.replace("{}", phase));
        let program = words.next().unwrap_or_default();
        Ok::<_, Failure>((absolute(&program)?, words.collect::<Vec<_>>()))
    };
    let (run_exec, run_args) = of_phase("run")?;
    let mut programs = CustomConfig {
        run_exec,
        run_args,
        ..CustomConfig::default()
    };
    if command.iter().any(|word| word.contains("{}")) {
        (programs.config_exec, programs.config_args) = of_phase("config")?;
        (programs.prepare_exec, programs.prepare_args) = of_phase("prepare")?;
        (programs.cleanup_exec, programs.cleanup_args) = of_phase("cleanup")?;
    }
    Ok(programs)
}

/// Returns the programs in a directory that are named for a phase, whatever their extension.
fn programs_in(directory: &Path) -> Result<CustomConfig, Failure> {
    let shown = strip_controls(&directory.display().to_string());
    let mut programs = CustomConfig::default();
    let mut not_executable = Vec::new();
    let listed = std::fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let listed = listed.with_context(|| format!("list {shown}"));
    for entry in listed.map_err(Failure::environment)? {
        let path = entry.path();
        let program = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("config") => &mut programs.config_exec,
            Some("prepare") => &mut programs.prepare_exec,
            Some("run") => &mut programs.run_exec,
            Some("cleanup") => &mut programs.cleanup_exec,
            _ => continue,
        };
        match path.metadata() {
            Ok(it) if it.is_file() && it.permissions().mode() & 0o111 != 0 => {}
            Ok(it) if it.is_file() => {
                not_executable.push(strip_controls(&path.display().to_string()));
                continue;
            }
            _ => continue,
        }
        if !program.is_empty() {
            let error = anyhow!("two programs in {shown} are named for the same phase");
            return Err(Failure::usage(error).with_help("name the driver in your settings instead"));
        }
        *program = absolute(&path.display().to_string())?;
    }
    if programs.run_exec.is_empty() {
        let error = anyhow!("no program in {shown} is named `run`, or `run` with an extension");
        let help = match not_executable.as_slice() {
            [] => "a driver in a directory has the programs `config`, `prepare`, `run` and `cleanup`; only `run` is required"
                .to_owned(),
            files => format!("not executable, so not programs: {}", files.join(", ")),
        };
        return Err(Failure::usage(error).with_help(help));
    }
    Ok(programs)
}

/// Returns a program's path from the root, since a driver starts in a directory of its own; a mere name stays.
fn absolute(program: &str) -> Result<String, Failure> {
    if !program.contains('/') {
        return Ok(program.to_owned());
    }
    let path = std::path::absolute(program).map_err(Failure::usage)?;
    Ok(path.display().to_string())
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

/// Runs the suite, after a first call that shows whether the driver starts at all, until `stop` is cancelled.
async fn run(tested: &Tested, args: &DriverCheckArgs, stop: &Cancellation) -> Report {
    let style = Style::of_stdout();
    let is_shown = !args.json;
    let started = Instant::now();
    let acquired = tested.provider.acquire(&tested.config, stop).await;
    let verdict = match acquired {
        Ok(data) => {
            tested.provider.release(&tested.config, data).await;
            Verdict::Passed
        }
        Err(error) => Verdict::Failed(chain(&error)),
    };
    let has_more = args.only.is_empty() || args.only.iter().any(|it| it != START);
    let goes_on = verdict == Verdict::Passed && has_more;
    let first = CheckReport {
        name: START,
        contract: "The driver starts, describes itself, and has capacity for a job.",
        verdict,
        duration: started.elapsed(),
    };
    let shown = Mutex::default();
    show(&first, is_shown, style, &shown);
    let mut report = Report {
        checks: vec![first],
        ..Report::default()
    };
    if goes_on {
        let enough = stop.child();
        let options = tested.options.clone().stop(enough.clone());
        let options = options.watcher(move |check| {
            show(check, is_shown, style, &shown);
            if check.name == SUCCESS && matches!(check.verdict, Verdict::Failed(_)) {
                enough.cancel(CancelCause::User);
            }
        });
        let rest = conformance(Arc::clone(&tested.provider), options).await;
        report.checks.extend(rest.checks);
        report.left_out = rest.left_out;
    }
    report
}

/// Prints a check that has ended; a failed one with what was expected and what came, unless another failed in the same way.
fn show(check: &CheckReport, is_shown: bool, style: Style, failures: &Mutex<Failures>) {
    if !is_shown {
        return;
    }
    let name = check.name;
    let text = match &check.verdict {
        Verdict::Passed => format!("{}   {name}\n", style.paint(Tone::Good, "passed")),
        Verdict::Skipped(reason) => format!("skipped  {name}: {}\n", strip_controls(reason)),
        Verdict::Failed(found) => {
            let failed = style.paint(Tone::Bad, "FAILED");
            let mut failures = failures.lock();
            if let Some((first, _)) = failures.iter().find(|(_, other)| other == found) {
                format!("{failed}   {name}: as {first}\n")
            } else {
                failures.push((name, found.clone()));
                format!(
                    "{failed}   {name}\n  expected {}\n  found    {}\n",
                    check.contract,
                    strip_controls(found).replace('\n', "\n           "),
                )
            }
        }
    };
    // A reader that is gone is noticed with the summary.
    let _ = print(text);
}

/// Returns the last line of the report.
fn summary(report: &Report, driver: Option<&Description>) -> String {
    let (failed, skipped) = (report.failed().len(), report.skipped().len());
    let passed = report.checks.len() - failed - skipped;
    let of = driver.map_or(String::new(), |it| {
        let named = format!("{} {}", it.name, it.version);
        format!("{}: ", strip_controls(named.trim()))
    });
    format!("\n{of}{passed} passed, {failed} failed, {skipped} skipped\n")
}

/// Returns what to do about the failures, where one step explains them.
fn help(report: &Report, args: &DriverCheckArgs) -> Option<String> {
    let failed = report.failed();
    let is_full = |check: &CheckReport| {
        check.name != START
            && matches!(&check.verdict, Verdict::Failed(found) if found.contains("acquire"))
    };
    if failed.contains(&START) {
        let custom = "`--protocol custom` checks a driver for GitLab Runner's custom executor";
        let typed = args.command.first().filter(|_| args.command.len() == 1);
        let typed = typed.map_or(String::new(), |program| {
            let program = strip_controls(program);
            format!(
                "a driver of the toolkit is started with `serve`: `driver check {program} serve`; "
            )
        });
        args.protocol.is_none().then(|| format!("{typed}{custom}"))
    } else if failed.contains(&SUCCESS) && args.only.len() != 1 {
        Some("the other checks run once a script succeeds and its output is in the log".to_owned())
    } else if report.checks.iter().any(is_full) {
        Some(format!(
            "the checks run {} jobs at once; `--jobs N` is for a driver with room for N",
            args.jobs
        ))
    } else {
        None
    }
}

#[derive(Serialize)]
struct JsonReport<'a> {
    /// Whether no check failed that ran.
    passed: bool,
    /// What the driver says about itself, if it does.
    driver: Option<JsonDriver<'a>>,
    checks: Vec<JsonCheck<'a>>,
    /// The checks that did not run.
    left_out: &'a [&'static str],
}

#[derive(Serialize)]
struct JsonDriver<'a> {
    name: &'a str,
    version: &'a str,
    capabilities: &'a [String],
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
    fn of(report: &'a Report, driver: Option<&'a Description>) -> Self {
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
            driver: driver.map(|it| JsonDriver {
                name: &it.name,
                version: &it.version,
                capabilities: &it.capabilities,
            }),
            checks: checks.collect(),
            left_out: &report.left_out,
        }
    }
}
