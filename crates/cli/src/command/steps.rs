//! `runwright steps`: runs functions of the step language directly.

use crate::args::{StepsAction, StepsArgs, StepsRunArgs};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::{Context, anyhow};
use console::terminal::Signals;
use console::{error_line, strip_controls};
use executor_core::Cancellation;
use includes::FetchPolicy;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use workstation::{
    FunctionEnd, FunctionRun, InputValue, LocalError, ProcessStream, StateDir, StepReport,
    StepsError, UserLibrary, parse_inputs,
};

/// The longest accepted file of inputs, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Runs the requested subcommand for functions.
pub(crate) fn steps(args: &StepsArgs) -> Result<Exit, Failure> {
    match &args.action {
        StepsAction::Run(args) => run(args),
    }
}

fn run(args: &StepsRunArgs) -> Result<Exit, Failure> {
    let mut run = function_run(args)?;
    if let Some(file) = args.results.as_deref().filter(|it| *it != Path::new("-")) {
        forget(file)?;
    }
    let state = StateDir::of_user().map_err(LocalError::from)?;
    if args.offline {
        let library = UserLibrary::new(&state).with_fetching(FetchPolicy::Offline);
        run.library = Some(Arc::new(library));
    }
    let runtime = runtime::start()?;
    let is_stdout_taken = args.results.as_deref() == Some(Path::new("-"));
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen()
            .context("listen to signals")
            .map_err(Failure::environment)?;
        let cancellation = Cancellation::new();
        let mut output =
            |stream: ProcessStream, bytes: &[u8]| pass_on(stream, bytes, is_stdout_taken);
        let executed = run.execute(&state, &mut output, &cancellation);
        tokio::select! {
            ended = executed => ended.map_err(Failure::from),
            () = signals.drive(&cancellation, |_| {}) => {
                Err(Failure::environment(anyhow!("the signal handler ended")))
            }
        }
    })?;
    match (&args.results, &ended.report) {
        (Some(file), Some(report)) => write_results(file, report)?,
        (Some(file), None) if ended.result.is_ok() => {
            let error = anyhow!(
                "the result of the steps is unknown, so {} is not written",
                file.display()
            );
            return Err(Failure::environment(error));
        }
        _ => {}
    }
    told(&ended)
}

/// Prints the result of a function, and returns the exit code.
fn told(ended: &FunctionEnd) -> Result<Exit, Failure> {
    match &ended.result {
        Ok(result) if result.status.is_success() => {
            let outputs = ended.report.iter().flat_map(|report| &report.outputs);
            for (name, value) in outputs {
                error_line(&strip_controls(&format!("output {name} = {value}")));
            }
            Ok(Exit::Success)
        }
        Ok(result) => {
            let code = result.status.exit_code();
            error_line(&format!("failed with exit code {}", code.0));
            Ok(Exit::JobFailed)
        }
        Err(StepsError::Canceled(_)) => Ok(Exit::Interrupted),
        Err(StepsError::Refused { message }) => Err(Failure::usage(anyhow!("{message}"))),
        Err(error) => Err(Failure::environment(anyhow!(
            "{}",
            executor_core::chain(error)
        ))),
    }
}

fn function_run(args: &StepsRunArgs) -> Result<FunctionRun, Failure> {
    let directory = args.cwd.as_deref().unwrap_or(Path::new("."));
    let directory = fs::canonicalize(directory)
        .with_context(|| format!("open directory {}", directory.display()))
        .map_err(Failure::usage)?;
    let mut run = FunctionRun::new(&args.reference, directory);
    if let Some(file) = &args.inputs {
        run.inputs = read_inputs(file)?;
    }
    for input in &args.input {
        let value = InputValue::from(&input.value);
        run.inputs.insert(input.name.clone(), value);
    }
    let pairs = args.env.iter();
    run.env = pairs
        .map(|it| (it.key().to_owned(), it.value().to_owned()))
        .collect();
    let pairs = args.variable.iter();
    run.variables = pairs
        .map(|it| (it.key().to_owned(), it.value().to_owned()))
        .collect();
    Ok(run)
}

/// Reads inputs as YAML, which includes JSON.
fn read_inputs(file: &Path) -> Result<BTreeMap<String, InputValue>, Failure> {
    let shown = file.display();
    let text = text_of(file)
        .with_context(|| format!("read {shown}"))
        .map_err(Failure::usage)?;
    parse_inputs(&text).map_err(|wrong| Failure::usage(anyhow!("inputs in {shown}: {wrong}")))
}

fn text_of(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(fs::File::open(file)?)
    };
    read.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is longer than 16 MiB",
        ));
    }
    Ok(text)
}

/// Removes the results of an earlier run, which could be mistaken for those of a run that wrote none.
/// Anything but a regular file (a pipe, a device, a link) stays and is written to.
fn forget(file: &Path) -> Result<(), Failure> {
    if !fs::symlink_metadata(file).is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    fs::remove_file(file)
        .with_context(|| format!("replace {}", file.display()))
        .map_err(Failure::environment)
}

fn write_results(file: &Path, report: &StepReport) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(report)
        .context("write the results as JSON")
        .map_err(Failure::environment)?;
    text.push('\n');
    if file == Path::new("-") {
        return super::stdout::print(text);
    }
    fs::write(file, text)
        .with_context(|| format!("write {}", file.display()))
        .map_err(Failure::environment)
}

/// Passes the output of processes on to the matching stream. A closed reader is no reason to stop.
fn pass_on(stream: ProcessStream, bytes: &[u8], is_stdout_taken: bool) {
    let _ = match stream {
        ProcessStream::Stdout if !is_stdout_taken => {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        _ => io::stderr().lock().write_all(bytes),
    };
}
