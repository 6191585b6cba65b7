//! Telling a run that goes on what to do.

use super::go_on::go_on;
use super::past::{Past, history, job, run_and_job, split_run};
use super::{check_name, print};
use crate::args::{CancelArgs, PlayArgs};
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::shown_name;
use crate::quoted::quoted;
use anyhow::{Context, anyhow};
use runwright::local::{
    ContinuationKind, ControlReply, ControlRequest, JobHistory, PlayVariable, Run, RunControlError,
    RunState,
};
use runwright::pipeline::Status;

/// Starts a manual job: over the socket of its run, or by going on with a run that has ended.
pub(crate) fn play(args: &PlayArgs) -> Result<Exit, Failure> {
    let (number, name) = run_and_job(&args.words)?;
    for pair in &args.variable {
        check_name(pair.key())?;
    }
    let past = Past::find(&args.place)?;
    let (run, name) = past.owner(past.run(number)?, name)?;
    let history = history(&run)?;
    if let RunState::Running { .. } = run.state(&history) {
        let variables = args.variable.iter().map(|pair| PlayVariable {
            key: pair.key().to_owned(),
            value: pair.value().to_owned(),
        });
        let request = ControlRequest::Play {
            job: name.to_owned(),
            variables: variables.collect(),
        };
        match tell(&run, &request) {
            // It has just ended.
            Err(Told::Gone) => {}
            Err(Told::Failed(failure)) => return Err(failure),
            Ok(()) => {
                let name = shown_name(name);
                print(format!("run {} starts {name}\n", run.id()))?;
                return Ok(Exit::Success);
            }
        }
    }
    let job = job(&run, &history, name)?;
    if !matches!(job.status, Status::Manual | Status::Scheduled) {
        let error = anyhow!("job {name:?} of run {} is {}", run.id(), job.status);
        return Err(Failure::usage(error).with_help(
            "only a job that waits for somebody can be started; `runwright retry` runs what failed again",
        ));
    }
    refuse_waiting_bridge(&past, &run, name)?;
    let jobs = vec![name.to_owned()];
    let top = past.top(&run)?;
    if top.id() == run.id() {
        return go_on(
            &run,
            ContinuationKind::Play(jobs),
            &args.variable,
            &args.shown,
        );
    }
    if !args.variable.is_empty() {
        let error = anyhow!("run {} is a child pipeline and has ended", run.id());
        return Err(Failure::usage(error)
            .with_help("variables reach its jobs only while it runs; play the job without"));
    }
    let play = ContinuationKind::PlayBelow {
        run: run.id(),
        jobs,
    };
    go_on(&top, play, &[], &args.shown)
}

/// Refuses to play a job that waits for its pipeline, in which a job waits for somebody.
fn refuse_waiting_bridge(past: &Past, run: &Run, name: &str) -> Result<(), Failure> {
    let Some(child) = past.child(run, name)? else {
        return Ok(());
    };
    let below = history(&child)?;
    if !matches!(child.state(&below), RunState::Manual) {
        return Ok(());
    }
    let waits = |job: &&JobHistory| job.status == Status::Manual;
    let waiting = below.planned().find(waits).map_or("JOB", |job| &job.name);
    let id = child.id();
    let error = anyhow!("job {name:?} of run {} waits for run {id}", run.id());
    let help = format!(
        "`runwright play {id} {}` starts what that waits for",
        quoted(waiting)
    );
    Err(Failure::usage(error).with_help(help))
}

/// Runs jobs of a run that goes on again; returns false when it has just ended.
pub(super) fn retry_now(past: &Past, run: &Run, names: &[String]) -> Result<bool, Failure> {
    for name in names {
        let (owner, job) = past.owner(run.clone(), name)?;
        let request = ControlRequest::Retry {
            job: job.to_owned(),
        };
        match tell(&owner, &request) {
            Ok(()) => {}
            Err(Told::Gone) => return Ok(false),
            Err(Told::Failed(failure)) => return Err(failure),
        }
        let shown = shown_name(job);
        print(format!("run {} runs {shown} again\n", owner.id()))?;
    }
    Ok(true)
}

/// Cancels a run that goes on, or one of its jobs.
pub(crate) fn cancel(args: &CancelArgs) -> Result<Exit, Failure> {
    let (number, jobs) = split_run(&args.words);
    let past = Past::find(&args.place)?;
    let mut run = match number {
        Some(number) => past.run(Some(number))?,
        None => living(&past)?,
    };
    let request = match jobs {
        [] if args.now => ControlRequest::Abort,
        [] => ControlRequest::Cancel,
        [_] if args.now => {
            let error = anyhow!("--now ends a whole run, not a job");
            return Err(Failure::usage(error).with_help("leave out the job, or --now"));
        }
        [name] => {
            let (owner, job) = past.owner(run, name)?;
            run = owner;
            ControlRequest::CancelJob {
                job: job.to_owned(),
            }
        }
        _ => {
            let error = anyhow!("{:?} is no number of a run", args.words[0]);
            return Err(Failure::usage(error).with_help("`runwright history` shows the runs"));
        }
    };
    match tell(&run, &request) {
        Ok(()) => {}
        Err(Told::Failed(failure)) => return Err(failure),
        Err(Told::Gone) => {
            let state = run.state(&history(&run)?);
            let how = match state {
                RunState::Running { .. } => "has not begun, or has just ended".to_owned(),
                state => format!("has ended: {state}"),
            };
            return Err(Failure::usage(anyhow!("run {} {how}", run.id())));
        }
    }
    let what = match jobs {
        [name] => format!("{} of run {}", shown_name(name), run.id()),
        _ => format!("run {}", run.id()),
    };
    print(format!("{what} is being canceled\n"))?;
    Ok(Exit::Success)
}

/// Returns the only run that goes on.
fn living(past: &Past) -> Result<Run, Failure> {
    let mut living = past.living()?;
    let failure = match living.len() {
        1 => return Ok(living.remove(0)),
        0 => Failure::usage(anyhow!("no run goes on here")),
        _ => {
            let ids: Vec<_> = living.iter().map(|run| run.id().to_string()).collect();
            let error = anyhow!("several runs go on: {}", ids.join(", "));
            Failure::usage(error).with_help("name one of them")
        }
    };
    Err(failure)
}

/// Why a run was not told.
enum Told {
    /// Nobody listens.
    Gone,
    Failed(Failure),
}

/// Tells a run what to do, and waits until it does.
fn tell(run: &Run, request: &ControlRequest) -> Result<(), Told> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start the runtime")
        .map_err(|error| Told::Failed(Failure::environment(error)))?;
    let reply: Result<ControlReply, _> = runtime.block_on(run.control().send(request));
    reply.map(drop).map_err(|error| match error {
        RunControlError::NotRunning => Told::Gone,
        RunControlError::Refused {
            message,
            suggestion,
        } => {
            let failure = Failure::usage(anyhow!("{message}"));
            Told::Failed(match suggestion {
                Some(suggestion) => failure.with_help(suggestion),
                None => failure,
            })
        }
        error => {
            let error = anyhow::Error::new(error).context(format!("tell run {}", run.id()));
            Told::Failed(Failure::environment(error))
        }
    })
}
