use super::continued_run::{resume_run, run_alone};
use super::project_runs::{ProjectRuns, history, print_killed_runs};
use super::stdout::{print, print_json};
use crate::args::{EnvironmentsAction, EnvironmentsArgs, StopArgs};
use crate::failure::{Exit, Failure};
use anyhow::anyhow;
use console::reports::environments::table;
use console::{Style, error_line, shell_argument, shown_name};
use jiff::Timestamp;
use scheduler::Status;
use std::path::Path;
use workstation::{ContinuationKind, Environment, LocalError, Run, RunState};

/// Lists the environments of the project, or stops some of them.
pub(crate) fn environments(args: &EnvironmentsArgs) -> Result<Exit, Failure> {
    if let Some(EnvironmentsAction::Stop(args)) = &args.action {
        return stop(args);
    }
    let past = ProjectRuns::find(&args.place)?;
    let all = past
        .project
        .environments()
        .list()
        .map_err(LocalError::from)?;
    if args.json {
        print_json(&all)?;
    } else if all.is_empty() {
        error_line("nothing has been deployed yet");
    } else {
        print(table(&all, Timestamp::now(), Style::of_stdout()))?;
    }
    Ok(Exit::Success)
}

/// Returns the names of the environments of a directory's project that can be stopped; none if they cannot be read.
pub(crate) fn environment_names(directory: &Path) -> Vec<String> {
    let past = ProjectRuns::open_in(directory).ok();
    let all = past.and_then(|past| past.project.environments().list().ok());
    let all = all.into_iter().flatten().filter(Environment::is_available);
    all.map(|environment| environment.name).collect()
}

fn stop(args: &StopArgs) -> Result<Exit, Failure> {
    // The list of due environments is of no use to a user who is stopping environments.
    let past = ProjectRuns::open(&args.place)?;
    print_killed_runs(&past.runs, None);
    let environments = past.project.environments();
    let chosen = if args.due {
        environments
            .due(Timestamp::now())
            .map_err(LocalError::from)?
    } else {
        let found = args.name.iter().map(|name| environments.find(name));
        found.collect::<Result<_, _>>().map_err(LocalError::from)?
    };
    if chosen.is_empty() {
        error_line("no environment is due");
    }
    // The first unsuccessful exit code is the result.
    let mut exit = Exit::Success;
    for environment in &chosen {
        // Stopping the previous environment may have stopped this one too.
        let environment = environments.find(&environment.name);
        let environment = environment.map_err(LocalError::from)?;
        let ended = stop_one(&past, &environment, args)?;
        if exit == Exit::Success {
            exit = ended;
        }
        if ended == Exit::Interrupted {
            break;
        }
    }
    Ok(exit)
}

fn stop_one(
    past: &ProjectRuns,
    environment: &Environment,
    args: &StopArgs,
) -> Result<Exit, Failure> {
    let name = shown_name(&environment.name);
    if !environment.is_available() {
        error_line(&format!("{name} has already been stopped"));
        return Ok(Exit::Success);
    }
    let environments = past.project.environments();
    let stops = environment
        .on_stop
        .as_ref()
        .zip(environment.deployment.as_ref());
    let ended = if let Some((job, deployment)) = stops {
        let run = past.run(Some(deployment.pipeline)).map_err(|failure| {
            let job = shell_argument(job);
            failure.with_help(format!(
                "the run that deployed it is no longer kept; `runwright run --no-needs {job}` runs the job, \
                 with the options that it was deployed with"
            ))
        })?;
        run_stop_job(&run, job, args)?
    } else {
        // No job stops it, so there is nothing to run.
        environments
            .mark_stopped(&environment.name)
            .map_err(LocalError::from)?;
        Exit::Success
    };
    let now = environments
        .find(&environment.name)
        .map_err(LocalError::from)?;
    if !now.is_available() {
        error_line(&format!("{name} is stopped"));
        return Ok(ended);
    }
    if ended == Exit::Success {
        let error = anyhow!("{:?} is still available", environment.name);
        return Err(Failure::usage(error).with_help(
            "the job that `on_stop` names stops it with `environment: {action: stop}`, under the same name",
        ));
    }
    Ok(ended)
}

/// Runs the job that stops an environment. If the run that deployed it finished, resumes that run, so that
/// artifacts are available. Otherwise runs the job alone, so that no other job of that run starts.
fn run_stop_job(run: &Run, job: &str, args: &StopArgs) -> Result<Exit, Failure> {
    let history = history(run)?;
    let state = run.state(&history);
    if let RunState::Running { .. } = state {
        let error = anyhow!("run {}, which deployed it, is still in progress", run.id());
        let play = format!(
            "`runwright play {} {}` starts the job",
            run.id(),
            shell_argument(job)
        );
        return Err(Failure::usage(error).with_help(play));
    }
    let came_to_its_end = matches!(
        state,
        RunState::Success | RunState::Failed | RunState::Manual
    );
    let mut planned = history.planned();
    let waits = planned.any(|it| it.name == job && it.status == Status::Manual);
    if came_to_its_end && waits {
        let play = ContinuationKind::Play(vec![job.to_owned()]);
        return resume_run(run, play, &[], &args.shown);
    }
    run_alone(run, job, &args.shown)
}
