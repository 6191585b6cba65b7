//! Runs that continue an earlier run, with its options.

use super::rerun_command::settings;
use super::run::{perform, project};
use crate::args::{Command, KeyValue, OutputArgs, RunArgs};
use crate::failure::{Exit, Failure};
use crate::parsed_args::{ParsedArgs, SettingsScope, read as read_settings};
use anyhow::{Context, anyhow};
use executor_core::variable::JobVariable;
use std::path::{Path, PathBuf};
use workstation::{Continuation, ContinuationKind, Run, RunCommand};

/// Resumes a run with its original options; played jobs also get these variables.
pub(super) fn resume_run(
    run: &Run,
    kind: ContinuationKind,
    variables: &[KeyValue],
    shown: &OutputArgs,
) -> Result<Exit, Failure> {
    check_words(run)?;
    let mut args = asked(run)?;
    args.shown = over(shown, &args.shown)?;
    enter_directory_of(run)?;
    let continues = Some(Continuation {
        run: run.id(),
        kind,
        variables: variables
            .iter()
            .map(|pair| JobVariable::public(pair.key(), pair.value()))
            .collect(),
    });
    perform(
        &args,
        &project(&args)?,
        run.record().command.clone(),
        continues,
    )
}

/// Runs one job in a run of its own, with the options of an earlier run.
pub(super) fn run_alone(run: &Run, job: &str, shown: &OutputArgs) -> Result<Exit, Failure> {
    check_words(run)?;
    let earlier = asked(run)?;
    let mut words = vec!["run".to_owned(), "--no-needs".to_owned()];
    words.extend(settings(&earlier));
    // A name may begin with a dash.
    words.extend(["--".to_owned(), job.to_owned()]);
    // What runs is what the record says.
    let mut args = run_args(parsed(run, &words)?, run)?;
    args.shown = over(shown, &earlier.shown)?;
    enter_directory_of(run)?;
    let directory = run.record().command.directory.clone();
    perform(
        &args,
        &project(&args)?,
        RunCommand { words, directory },
        None,
    )
}

/// Returns the arguments of a run's command, for the branch or tag of that run.
fn asked(run: &Run) -> Result<RunArgs, Failure> {
    let record = run.record();
    // Output options come from the current command.
    let completed =
        parsed(run, &record.command.words)?.with_settings(SettingsScope::Screen, |directory| {
            let began = &record.command.directory;
            read_settings(&directory.map_or_else(|| began.clone(), |it| began.join(it)))
        })?;
    let mut args = run_args(completed, run)?;
    let situation = &record.situation;
    let pinned = &mut args.project.situation;
    pinned.pin(&situation.reference, situation.is_tag);
    args.changed.among.clone_from(&record.selection.among);
    Ok(args)
}

/// Parses the words of a command, which are those of this run or made from them.
fn parsed(run: &Run, words: &[String]) -> Result<ParsedArgs, Failure> {
    let words = std::iter::once("runwright").chain(words.iter().map(String::as_str));
    ParsedArgs::parse(words).map_err(|_| unknown(run))
}

fn run_args(parsed: ParsedArgs, run: &Run) -> Result<RunArgs, Failure> {
    match parsed.command {
        Command::Run(args) => Ok(args.into_inner()),
        _ => Err(unknown(run)),
    }
}

fn unknown(run: &Run) -> Failure {
    let error = anyhow!("the recorded command of run {} cannot be read", run.id());
    Failure::environment(error).with_help(
        "another version or another program started it; `runwright run` starts a new run",
    )
}

/// Refuses a run whose record lacks a word of its command.
fn check_words(run: &Run) -> Result<(), Failure> {
    if RunCommand::is_exact(&run.record().command.words) {
        return Ok(());
    }
    let error = anyhow!(
        "the command of run {} has a word that is not UTF-8, which its record does not keep",
        run.id()
    );
    Err(Failure::environment(error)
        .with_help("`runwright run` with the same words starts a new run"))
}

/// Returns the output options; their paths are relative to the current directory.
fn over(shown: &OutputArgs, earlier: &OutputArgs) -> Result<OutputArgs, Failure> {
    let mut shown = shown.over(earlier);
    let reports = shown.report.iter_mut().map(|report| &mut report.path);
    for file in shown.events.iter_mut().chain(reports) {
        *file = absolute(file)?;
    }
    Ok(shown)
}

/// Changes to the directory in which the run's command was given, since its paths are relative to it.
fn enter_directory_of(run: &Run) -> Result<(), Failure> {
    let directory = &run.record().command.directory;
    std::env::set_current_dir(directory)
        .with_context(|| {
            format!(
                "go to {}, where run {} began",
                directory.display(),
                run.id()
            )
        })
        .map_err(Failure::usage)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .with_context(|| format!("resolve {}", path.display()))
        .map_err(Failure::usage)
}
