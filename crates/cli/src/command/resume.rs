//! `resume`, `retry` and other commands that continue an earlier run.

use super::control::retry_now;
use super::project_runs::{ProjectRuns, history, jobs, split_run};
use super::rerun_command::settings;
use super::run::{perform, project};
use crate::args::{Cli, Command, KeyValue, OutputArgs, ResumeArgs, RetryArgs, RunArgs};
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::resolved_args::{Asked, ResolvedArgs, read as read_settings};
use anyhow::{Context, anyhow};
use clap::Parser;
use console::shell_argument;
use executor_core::variable::JobVariable;
use scheduler::Status;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use workstation::{Continuation, ContinuationKind, JobHistory, Run, RunCommand, RunState};

/// Resumes a run.
pub(crate) fn resume(args: &ResumeArgs) -> Result<Exit, Failure> {
    let (past, run) = ProjectRuns::find_to_resume(&args.place, args.run)?;
    let run = whole_run(&past, run, "resume")?;
    resume_run(&run, ContinuationKind::Resume, &[], &args.shown)
}

/// Retries the failed jobs of a run, or selected ones, and resumes it.
pub(crate) fn retry(args: &RetryArgs) -> Result<Exit, Failure> {
    let (number, names) = split_run(&args.words);
    let (past, run) = ProjectRuns::find_to_resume(&args.place, number)?;
    let lives = matches!(run.state(&history(&run)?), RunState::Running { .. });
    if lives && !names.is_empty() && retry_now(&past, &run, names)? {
        return Ok(Exit::Success);
    }
    let run = whole_run(&past, run, "retry")?;
    if names.is_empty() {
        return resume_run(&run, ContinuationKind::Retry, &[], &args.shown);
    }
    let history = history(&run)?;
    let mut wanted: Vec<String> = Vec::new();
    for text in names {
        let meant = jobs(&run, &history, text)?;
        let ran = |job: &&&JobHistory| job.run_attempt > 0;
        let have_run: Vec<&JobHistory> = meant.iter().filter(ran).copied().collect();
        match (have_run.as_slice(), meant.as_slice()) {
            ([], [job, ..]) => return Err(did_not_run(&run, job)),
            // Some of several matching jobs may not have run.
            (have_run, _) => wanted.extend(have_run.iter().map(|job| job.name.clone())),
        }
    }
    let mut seen = HashSet::new();
    wanted.retain(|name| seen.insert(name.clone()));
    let jobs = ContinuationKind::RetryJobs(wanted);
    resume_run(&run, jobs, &[], &args.shown)
}

fn did_not_run(run: &Run, job: &JobHistory) -> Failure {
    let (id, name) = (run.id(), &job.name);
    let failure = Failure::usage(anyhow!(
        "job {name:?} of run {id} did not run: it is {}",
        job.status
    ));
    match job.status {
        Status::Manual => failure.with_help(format!(
            "`runwright play {id} {}` starts it",
            shell_argument(name)
        )),
        Status::Skipped => {
            failure.with_help("it is decided anew when what stood before it is retried")
        }
        _ => failure,
    }
}

/// Returns the run, which must not be a child pipeline.
fn whole_run(past: &ProjectRuns, run: Run, verb: &str) -> Result<Run, Failure> {
    let top = past.top(&run)?;
    if top.id() == run.id() {
        return Ok(run);
    }
    let (id, top) = (run.id(), top.id());
    let error = anyhow!("run {id} is a child pipeline of run {top}");
    Err(Failure::usage(error).with_help(format!("`runwright {verb} {top}` goes on with both")))
}

/// Resumes a run with its original options; played jobs also get these variables.
pub(super) fn resume_run(
    run: &Run,
    kind: ContinuationKind,
    variables: &[KeyValue],
    shown: &OutputArgs,
) -> Result<Exit, Failure> {
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
    let earlier = asked(run)?;
    let mut words = vec!["run".to_owned(), "--no-needs".to_owned()];
    words.extend(settings(&earlier));
    // A name may begin with a dash.
    words.extend(["--".to_owned(), job.to_owned()]);
    let program = std::iter::once("runwright").chain(words.iter().map(String::as_str));
    let all: Vec<OsString> = program.map(OsString::from).collect();
    let mut args = parsed(&all).ok_or_else(|| unknown(run))?;
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
    let words = std::iter::once("runwright".to_owned()).chain(record.command.words.iter().cloned());
    let words = words.map(OsString::from).collect();
    // Output options come from the current command.
    let settled = ResolvedArgs::of(words, Asked::Screen, |directory| {
        let began = &record.command.directory;
        read_settings(&directory.map_or_else(|| began.clone(), |it| began.join(it)))
    })?;
    let mut args = parsed(&settled.words).ok_or_else(|| unknown(run))?;
    let situation = &record.situation;
    let pinned = &mut args.project.situation;
    pinned.pin(&situation.reference, situation.is_tag);
    args.changed.among.clone_from(&record.selection.among);
    Ok(args)
}

/// Returns the arguments of a `run` command, whose first word is the program's name.
fn parsed(words: &[OsString]) -> Option<RunArgs> {
    match Cli::try_parse_from(words).ok()?.command {
        Command::Run(args) => Some(*args),
        _ => None,
    }
}

fn unknown(run: &Run) -> Failure {
    let error = anyhow!("run {} does not say with which command it began", run.id());
    Failure::environment(error)
        .with_help("another version, or another program, began it; `runwright run` begins anew")
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
