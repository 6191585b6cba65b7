//! The command line of Runwright: arguments, commands and exit codes.
//!
//! [`main`] is the whole program; the binary only calls it.
//!
//! # Examples
//!
//! ```
//! // Exactly what the binary does with `runwright executors`.
//! let code = cli::main(["runwright", "executors"]);
//! assert_eq!(code, std::process::ExitCode::SUCCESS);
//! ```

mod args;
mod command;
mod completion;
mod executors;
mod failure;
mod helper;
mod other_words;
mod parsed_args;
mod runtime;
mod starter;

pub use failure::Exit;

use args::Command;
use failure::{Failure, exit_code};
use parsed_args::{ParsedArgs, SettingsScope};
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Runs the program with these arguments, the first of which is its name.
pub fn main(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    workstation::survive_file_size_limit();
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let arguments = helper::as_runner(arguments);
    if let Some(code) = helper::run(&arguments) {
        return code;
    }
    if completion::complete(&arguments) {
        return exit_code(Exit::Success);
    }
    let arguments = command::meant(other_words::translated(arguments));
    let parsed = match ParsedArgs::parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return misunderstood(error, &arguments),
    };
    // A service has a log of its own form.
    if !parsed.command.is_service() {
        start_log();
    }
    let completed = parsed.with_settings(SettingsScope::All, |directory| {
        parsed_args::read(directory.unwrap_or(Path::new(".")))
    });
    let done = completed.and_then(|args| {
        let skip = args.skip;
        run(args.command, args.words).map_err(|failure| match skip {
            Some(skip) => failure.with_skip(&skip),
            None => failure,
        })
    });
    match done {
        Ok(code) => code,
        Err(failure) => {
            failure.report();
            exit_code(failure.exit())
        }
    }
}

fn misunderstood(error: clap::Error, arguments: &[OsString]) -> ExitCode {
    let error = match other_words::explained(error, arguments) {
        Ok(failure) => {
            failure.report();
            return exit_code(failure.exit());
        }
        Err(error) => error,
    };
    let exit = if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Success
    };
    // If even this cannot be printed, there is nothing left to do.
    let _ = error.print();
    exit_code(exit)
}

fn run(command: Command, words: Vec<String>) -> Result<ExitCode, Failure> {
    let exit = match command {
        // The program in the shell determines the exit code.
        Command::Shell(args) => return command::shell(&args).map(ExitCode::from),
        Command::Run(args) if args.choose => command::choose(&args, &words),
        Command::Run(args) => command::run(&args, words),
        Command::Watch(args) => command::watch(&args),
        Command::History(args) => command::history(&args),
        Command::Times(args) => command::times(&args),
        Command::Logs(args) => command::logs(&args),
        Command::Artifacts(args) => command::artifacts(&args),
        Command::Resume(args) => command::resume(&args),
        Command::Retry(args) => command::retry(&args),
        Command::Play(args) => command::play(&args),
        Command::Cancel(args) => command::cancel(&args),
        Command::Clean(args) => command::clean(&args),
        Command::Environments(args) => command::environments(&args),
        Command::List(args) => command::list(&args),
        Command::Plan(args) => command::plan(&args),
        Command::Explain(args) => command::explain(&args),
        Command::Variables(args) => command::variables(&args),
        Command::Lint(args) => command::lint(&args),
        Command::Show(args) => command::show(&args),
        Command::Steps(args) => command::steps(&args),
        Command::Driver(args) => command::driver(&args),
        Command::Simulate(args) => command::simulate(&args),
        Command::Machines(args) => command::machines(&args),
        Command::Kubernetes(args) => command::kubernetes(&args),
        Command::Runner(args) => command::runner(&args),
        Command::Vendor(args) => command::vendor(&args),
        Command::GitLab(args) => command::gitlab(&args),
        Command::Config(args) => command::config(&args),
        Command::Init(args) => command::init(&args),
        Command::Hook(args) => command::hook(&args),
        Command::Executors(args) => command::executors(&args),
        Command::Completion(args) => command::completion(&args),
        Command::Man(args) => command::man(&args),
    };
    exit.map(exit_code)
}

/// What is shown unless `RUNWRIGHT_LOG` is set. The watch of a cluster begins again by itself, and its errors end the requests beside it.
const WARNINGS: &str = "warn,kube_runtime=error,kube_client=off";

/// Starts the program's own log on standard error: warnings for the user, or what `RUNWRIGHT_LOG` selects, with times and
/// origins for developers.
fn start_log() {
    let chosen = std::env::var("RUNWRIGHT_LOG").ok();
    let filter = chosen.as_deref().unwrap_or(WARNINGS);
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(|| console::ErrorStream);
    // A second call in one process fails, since the log has already started; that is harmless.
    let _ = match &chosen {
        Some(_) => log.try_init(),
        None => log.event_format(Warning).try_init(),
    };
}

/// Writes an event as a warning for the user.
#[derive(Debug)]
struct Warning;

impl<S, N> FormatEvent<S, N> for Warning
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        writer.write_str("warning: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writer.write_char('\n')
    }
}
