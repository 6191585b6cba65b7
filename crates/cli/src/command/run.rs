use super::execute::execute;
use super::executor_choice::{check_executor, remember};
use super::no_pipeline::NoPipeline;
use super::only_failed;
use super::parallel::allow_mounts;
use super::pipeline_options::{find_project, pipeline_options};
use super::project_runs::print_leftovers;
use super::rerun_command::{shell_words, words_of_run};
use super::run_options::{check_manual, run_options, touched_jobs};
use super::stdout::{print, print_json};
use crate::args::{Command, DialectArg, RunArgs};
use crate::failure::{Exit, Failure};
use crate::parsed_args::{ParsedArgs, SettingsScope, read};
use crate::runtime;
use anyhow::{Context, anyhow};
use console::{
    ProgressMode, error_line, print_diagnostics, print_notes, print_skipped, strip_controls,
};
use executor_core::job::When;
use pipeline::Plan;
use pipeline::create::CreatedJob;
use std::fmt::Write;
use std::path::Path;
use workstation::{
    Continuation, LocalError, LocalPipeline, LocalProject, LocalRun, RunCommand, RunOptions,
    StateDir,
};

/// Runs the pipeline, or some of its jobs; `words` are the words of the command, to resume the run later.
pub(crate) fn run(args: &RunArgs, words: Vec<String>) -> Result<Exit, Failure> {
    let directory = std::env::current_dir()
        .context("get the current directory")
        .map_err(Failure::usage)?;
    let project = project(args)?;
    remember_consent(args, &project)?;
    if !args.dry_run {
        let state = StateDir::of_user().map_err(LocalError::from)?;
        print_leftovers(&state.project(project.root()));
    }
    perform(args, &project, RunCommand { words, directory }, None)
}

/// Remembers the user's consent, if the command says so.
pub(super) fn remember_consent(args: &RunArgs, project: &LocalProject) -> Result<(), Failure> {
    if !args.remember {
        return Ok(());
    }
    if args.executor != executor_shell::NAME {
        return Err(Failure::usage(anyhow!("--remember needs --executor shell")));
    }
    remember(project.root())
}

/// Finds the project of a run.
pub(super) fn project(args: &RunArgs) -> Result<LocalProject, Failure> {
    check_executor(&args.executor)?;
    find_project(&args.project)
}

/// Starts or resumes the run that a command asks for.
pub(super) fn perform(
    args: &RunArgs,
    project: &LocalProject,
    command: RunCommand,
    continues: Option<Continuation>,
) -> Result<Exit, Failure> {
    let read = pipeline_options(&args.project)?;
    let mut options = run_options(args, project)?;
    options.command = command;
    options.continues = continues;
    let pipeline = match project.read(&read)?.into_result() {
        Ok((pipeline, warnings)) => {
            print_diagnostics(&warnings);
            pipeline
        }
        Err(found) => {
            print_diagnostics(&found);
            return Ok(Exit::Usage);
        }
    };
    if args.project.dialect == DialectArg::Bitrab {
        for unknown in options.selection.unknown_jobs(pipeline.resolved()) {
            error_line(&strip_controls(&format!("warning: {unknown}")));
        }
    }
    if options.continues.is_none() {
        check_manual(args, &pipeline)?;
    }
    let among = touched_jobs(args, project, &pipeline)?;
    options.selection.among = among;
    if args.only_failed {
        let selection = &mut options.selection;
        if !only_failed::narrow(selection, args.changed.among.as_ref(), project, &pipeline)? {
            return Ok(Exit::Success);
        }
    }
    if !args.dry_run {
        allow_mounts(options.isolation)?;
    }
    let runtime = runtime::start()?;
    let done = runtime.block_on(async {
        if args.dry_run {
            preview(args, &pipeline, options)
        } else {
            execute(args, &pipeline, options).await
        }
    });
    // A thread may still be blocked on a reader that does not read the output.
    runtime.shutdown_background();
    done
}

/// Shows which jobs would run.
fn preview(args: &RunArgs, pipeline: &LocalPipeline, options: RunOptions) -> Result<Exit, Failure> {
    let no_pipeline = no_pipeline("run", args, pipeline);
    let plan = LocalRun::builder(pipeline).options(options).preview();
    let plan = plan.map_err(|error| no_pipeline.failure(error))?;
    print_notes(pipeline.notes()?);
    plan.refusal()
        .into_iter()
        .for_each(|refusal| no_pipeline.print(refusal));
    print_skipped(&plan);
    if args.shown.progress() == ProgressMode::Json {
        let mut creation = pipeline.create()?;
        let is_planned = |job: &CreatedJob| plan.position(job.name()).is_some();
        creation.jobs.retain(is_planned);
        print_json(&creation.document())?;
    } else {
        print(shown_plan(&plan))?;
    }
    Ok(Exit::Success)
}

/// Returns what explains why a run has no pipeline; `command` started the run.
pub(super) fn no_pipeline<'a>(
    command: &str,
    args: &'a RunArgs,
    pipeline: &'a LocalPipeline,
) -> NoPipeline<'a> {
    NoPipeline {
        pipeline,
        project: &args.project,
        command: words_of_run(command, args),
        shell: shell_words(args),
    }
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
        for command in commands.flatten() {
            // A command of several lines, such as a here-document, is one command.
            for (number, line) in command.lines().enumerate() {
                let sign = if number == 0 { "$" } else { " " };
                let line = format!("    {sign} {}", strip_controls(line));
                let _ = writeln!(text, "{}", line.trim_end());
            }
        }
    }
    text
}

/// Runs a `run` command of these words, with the settings of the project, as if the user had typed it.
pub(super) fn run_words(words: &[String]) -> Result<Exit, Failure> {
    let unknown = || Failure::usage(anyhow!("no command runs these jobs"));
    let line = std::iter::once("runwright").chain(words.iter().map(String::as_str));
    let parsed = ParsedArgs::parse(line).map_err(|_| unknown())?;
    let completed = parsed.with_settings(SettingsScope::All, |directory| {
        read(directory.unwrap_or(Path::new(".")))
    })?;
    match completed.command {
        Command::Run(args) => run(&args, completed.words),
        _ => Err(unknown()),
    }
}
