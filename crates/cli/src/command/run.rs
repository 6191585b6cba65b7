use super::again::shell_words;
use super::audience::Audience;
use super::changed::Touched;
use super::choose::choose;
use super::containers::Where;
use super::done::work;
use super::isolation;
use super::on_failure::OnFailure;
use super::parallel::Parallel;
use super::past::tell_left;
use super::report_files::ReportFiles;
use super::watch_changes::watch_changes;
use super::{failed, find_project, pipeline_options, print};
use crate::args::{DialectArg, RunArgs};
use crate::exit_code::Exit;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::signal::{Signals, TerminalChange, TerminalSignals};
use console::terminal::OwnTerminal;
use console::tui::Shells;
use console::{ProgressMode, diagnostics, error_line, notes, refusal, skipped, strip_controls};
use executor_core::Cancellation;
use executor_core::job::When;
use executor_docker::DockerOptions;
use executor_shell::ShellConfig;
use pipeline::config::parse_duration;
use pipeline::plan::{NeedsMode, UnknownNames};
use pipeline::{Plan, Selection};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use workstation::{
    Continuation, LocalError, LocalPipeline, LocalProject, LocalRun, Notices, ReuseMode,
    ReuseOptions, RunCommand, RunOptions, Settings, StateDir, Visitor,
};

/// Runs the pipeline, or some of its jobs; `words` are those of the command, to ask for it again.
pub(crate) fn run(args: &RunArgs, words: Vec<String>) -> Result<Exit, Failure> {
    if args.choose {
        return choose(args, &words);
    }
    let directory = std::env::current_dir()
        .context("find out the current directory")
        .map_err(Failure::usage)?;
    let project = project(args)?;
    if !args.dry_run {
        let state = StateDir::of_user().map_err(LocalError::from)?;
        tell_left(&state.project(project.root()));
    }
    perform(args, project, RunCommand { words, directory }, None)
}

/// Finds the project that a run is of.
pub(super) fn project(args: &RunArgs) -> Result<LocalProject, Failure> {
    check_executor(&args.executor)?;
    find_project(&args.project)
}

/// Runs what a command asks for, or goes on with a run that it began.
pub(super) fn perform(
    args: &RunArgs,
    project: LocalProject,
    command: RunCommand,
    continues: Option<Continuation>,
) -> Result<Exit, Failure> {
    let read = pipeline_options(&args.project)?;
    let mut options = options(args, &project)?;
    options.command = command;
    options.continues = continues;
    let pipeline = match project.read(&read)?.into_result() {
        Ok((pipeline, warnings)) => {
            diagnostics(&warnings);
            pipeline
        }
        Err(found) => {
            diagnostics(&found);
            return Ok(Exit::Usage);
        }
    };
    if args.project.dialect == DialectArg::Bitrab {
        for unknown in options.selection.unknown_jobs(pipeline.resolved()) {
            error_line(&strip_controls(&format!("warning: {unknown}")));
        }
    }
    let among = among(args, &project, &pipeline)?;
    options.selection.among = among;
    if args.only_failed {
        let selection = &mut options.selection;
        if !failed::narrow(selection, args.changed.among.as_ref(), &project, &pipeline)? {
            return Ok(Exit::Success);
        }
    }
    if !args.dry_run {
        isolation::allow_mounts(options.isolation)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("start the runtime")
        .map_err(Failure::environment)?;
    let done = runtime.block_on(async {
        if args.dry_run {
            preview(&project, &pipeline, &options)
        } else {
            execute(args, project, &pipeline, options).await
        }
    });
    // Somebody who does not read the output may still keep a thread busy.
    runtime.shutdown_background();
    done
}

/// Returns the jobs that count when a change decides: those of the earlier run that is gone on with, or
/// those that are touched now.
pub(super) fn among(
    args: &RunArgs,
    project: &LocalProject,
    pipeline: &LocalPipeline,
) -> Result<Option<BTreeSet<String>>, Failure> {
    if args.changed.among.is_some() || !args.changed.is_asked() {
        return Ok(args.changed.among.clone());
    }
    let creation = pipeline.create()?;
    let touched = Touched::find(&args.changed, &args.project, project, pipeline, &creation)?;
    Ok(touched.map(|touched| touched.jobs.names()))
}

/// Refuses an executor there is not before anything else is looked at.
pub(super) fn check_executor(name: &str) -> Result<(), Failure> {
    let registry = crate::executors::registry(ShellConfig::default(), DockerOptions::new())
        .map_err(Failure::environment)?;
    if registry.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<_> = registry.names().collect();
    Err(Failure::usage(anyhow!("there is no executor {name:?}"))
        .with_help(format!("this build has: {}", names.join(", "))))
}

pub(super) fn options(args: &RunArgs, project: &LocalProject) -> Result<RunOptions, Failure> {
    let parallel = Parallel::choose(args, project)?;
    let timeout = match &args.timeout {
        Some(text) => Some(parse_duration(text).ok_or_else(|| {
            Failure::usage(anyhow!("--timeout {text:?} is no duration"))
                .with_help("write it as `90 minutes` or `1h 30m`")
        })?),
        None => None,
    };
    Ok(RunOptions {
        selection: Selection {
            jobs: args.job_names(),
            stages: args.stage.iter().cloned().collect(),
            needs: if args.follow_needs() {
                NeedsMode::With
            } else {
                NeedsMode::Without
            },
            manual: args.manual.clone(),
            skip: args.skipped(),
            unknown: match args.project.dialect {
                DialectArg::Gitlab => UnknownNames::Refused,
                DialectArg::Bitrab => UnknownNames::LeftOut,
            },
            ..Selection::default()
        },
        concurrency: parallel.concurrency,
        timeout,
        isolation: parallel.isolation,
        watch_changes: watch_changes(args, project)?,
        reuse: reuse(args, project)?,
        ..RunOptions::default()
    })
}

/// Returns what is to be known to take jobs from earlier runs.
fn reuse(args: &RunArgs, project: &LocalProject) -> Result<ReuseOptions, Failure> {
    let mode = args.reuse.mode();
    if mode == ReuseMode::Off {
        return Ok(ReuseOptions::default());
    }
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let home = std::env::home_dir();
    let settings = Settings::of_project(project.root(), state.path(), home.as_deref())
        .map_err(LocalError::from)?;
    let executor_setup = place(args, project.root()).setup()?;
    Ok(ReuseOptions {
        mode,
        settings: Some(Arc::new(settings)),
        executor_setup,
    })
}

/// Returns where the jobs are to run.
pub(super) fn place<'a>(args: &'a RunArgs, root: &'a Path) -> Where<'a> {
    Where {
        executor: &args.executor,
        docker: &args.docker,
        login: args.login,
        fetching: args.project.elsewhere.options().fetching,
        root,
    }
}

/// Shows what would run.
fn preview(
    project: &LocalProject,
    pipeline: &LocalPipeline,
    options: &RunOptions,
) -> Result<Exit, Failure> {
    let plan = LocalRun::preview(project, pipeline, options)?;
    notes(&pipeline.notes()?);
    plan.refusal().into_iter().for_each(refusal);
    skipped(&plan);
    print(shown_plan(&plan))?;
    Ok(Exit::Success)
}

fn shown_plan(plan: &Plan) -> String {
    if plan.is_empty() {
        return "no job to run\n".to_owned();
    }
    let mut text = String::new();
    let mut stage = None;
    for job in plan.jobs() {
        let definition = &job.definition;
        if stage != Some(job.stage_index) {
            stage = Some(job.stage_index);
            let _ = writeln!(text, "stage {}", strip_controls(&definition.stage));
        }
        let waits = definition.when == When::Manual && !job.is_played;
        let remark = if waits { " (manual, not played)" } else { "" };
        let _ = writeln!(text, "  {}{remark}", strip_controls(job.name()));
        let commands = definition.before_script.iter().chain(&definition.script);
        for command in commands.flatten().flat_map(|command| command.lines()) {
            let _ = writeln!(text, "    $ {}", strip_controls(command));
        }
    }
    text
}

/// How long the reader of the output is waited for after somebody stopped the run.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(5);

async fn execute(
    args: &RunArgs,
    project: LocalProject,
    pipeline: &LocalPipeline,
    mut options: RunOptions,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()
        .context("listen to signals")
        .map_err(Failure::environment)?;
    let terminal = TerminalSignals::listen()
        .context("listen to the terminal")
        .map_err(Failure::environment)?;
    let interrupted = signals.seen();
    let cancellation = Cancellation::new();
    let reports = ReportFiles::check(&args.shown.report)?;
    let audience = Arc::new(Audience::of(&args.shown)?);
    if args.shell_on_failure {
        options.visitor = on_failure(args, &audience, &options)?;
    }
    let shells = || Shells {
        runtime: Handle::current(),
        profile: args.login,
        words: shell_words(args),
        is_deaf: signals.deafness(),
    };
    audience.connect(&options, shells, &cancellation);
    options.notices = Notices::new(|line| error_line(&strip_controls(line)));
    let work = work(args, project, pipeline, options, &audience, &cancellation);
    let done = tokio::select! {
        done = work => done,
        () = signals.drive(&cancellation, |count| audience.tell(words_on_signal(count))) => {
            return Err(Failure::environment(anyhow!("the signal handler ended")));
        }
        () = follow_terminal(terminal, &audience) => {
            return Err(Failure::environment(anyhow!("the signal handler ended")));
        }
    };
    let mut written = Ok(());
    if let Ok(done) = &done {
        written = reports.write(&done.report).map_err(Failure::environment);
        audience.show_summary(&done.summary(args, audience.style()));
    }
    let was_interrupted = interrupted.load(Ordering::SeqCst);
    let shown = {
        let audience = Arc::clone(&audience);
        tokio::task::spawn_blocking(move || audience.finish())
    };
    let shown = tokio::select! {
        shown = shown => shown.unwrap_or(Ok(())),
        () = signals.next() => {
            interrupted.store(true, Ordering::SeqCst);
            Ok(())
        }
        () = tokio::time::sleep(LAST_WORDS), if was_interrupted => Ok(()),
    };
    audience.leave();
    let done = done?;
    written?;
    if interrupted.load(Ordering::SeqCst) {
        return Ok(Exit::Interrupted);
    }
    shown.map_err(Failure::environment)?;
    Ok(done.report.exit)
}

/// Returns who enters jobs that fail. A run that is gone on with may have begun at a terminal, and does
/// without one.
fn on_failure(
    args: &RunArgs,
    audience: &Audience,
    options: &RunOptions,
) -> Result<Option<Arc<dyn Visitor>>, Failure> {
    match audience.console().filter(|_| OwnTerminal::is_there()) {
        Some(console) => {
            let visitor = OnFailure::new(console, &options.controls, args.login);
            Ok(Some(Arc::new(visitor)))
        }
        None if options.continues.is_some() => Ok(None),
        None if args.shown.progress() == ProgressMode::Tui => {
            let error = anyhow!("--shell-on-failure does not go with --progress tui");
            Err(Failure::usage(error).with_help("the key `s` opens a shell in a job"))
        }
        None => {
            let error = anyhow!("--shell-on-failure needs a terminal, with a person at it");
            Err(Failure::usage(error)
                .with_help("leave it out, and enter the job afterwards: `runwright shell JOB`"))
        }
    }
}

pub(super) fn words_on_signal(count: usize) -> &'static str {
    if count == 1 {
        "cancelling; once more to end everything at once"
    } else {
        "ending everything at once"
    }
}

/// Keeps the view in step with the terminal. Never returns.
pub(super) async fn follow_terminal(mut terminal: TerminalSignals, audience: &Audience) {
    loop {
        match terminal.next().await {
            TerminalChange::Size => audience.resized(),
            TerminalChange::Resumed => audience.resumed(),
        }
    }
}
