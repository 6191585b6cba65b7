//! Controls a run while it is running.

use super::continued_run::resume_run;
use super::pipeline_options::check_name;
use super::project_runs::{ProjectRuns, history, job, jobs, run_and_job, split_run, waits};
use super::prompt::one_job;
use super::stdout::print;
use crate::args::{CancelArgs, PlaceArgs, PlayArgs};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::anyhow;
use console::{shell_quoted, shown_name};
use pipeline::selector;
use scheduler::Status;
use workstation::{
    ContinuationKind, ControlReply, ControlRequest, JobHistory, PlayVariable, Run, RunControlError,
    RunHistory, RunState,
};

/// Starts a manual job: over the socket of its run, or by resuming a finished run.
pub(crate) fn play(args: &PlayArgs) -> Result<Exit, Failure> {
    let Some(words) = named(&args.words, &args.place)? else {
        return Ok(Exit::Interrupted);
    };
    let (number, text) = run_and_job(&words)?;
    for pair in &args.variable {
        check_name(pair.key())?;
    }
    let past = ProjectRuns::find(&args.place)?;
    past.refuse_number("play", &words)?;
    let (run, text) = past.owner(past.run(number)?, text)?;
    let history = history(&run)?;
    let name = &*waiting(&run, &history, text)?;
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
            // The run has just finished.
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
            "only a manual job that has not started can be started; `runwright retry` runs failed jobs again",
        ));
    }
    refuse_waiting_bridge(&past, &run, name)?;
    let jobs = vec![name.to_owned()];
    let top = past.top(&run)?;
    if top.id() == run.id() {
        return resume_run(
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
    resume_run(&top, play, &[], &args.shown)
}

/// Returns the words of the command; without any, asks for a job that waits to be started.
fn named(words: &[String], place: &PlaceArgs) -> Result<Option<Vec<String>>, Failure> {
    if !words.is_empty() {
        return Ok(Some(words.to_vec()));
    }
    let past = ProjectRuns::open(place)?;
    let run = past.run(None)?;
    let history = history(&run)?;
    let jobs: Vec<_> = history.planned().filter(|job| waits(job)).collect();
    if jobs.is_empty() {
        let error = anyhow!("no job of run {} waits to be started", run.id());
        return Err(Failure::usage(error).with_help(
            "`runwright run --manual JOB` runs a manual job; `runwright retry JOB` runs any job of the run again",
        ));
    }
    let rows = jobs
        .iter()
        .map(|job| format!("{}  {}", shown_name(&job.name), job.status));
    let chosen = one_job("Which job should start?", &rows.collect::<Vec<_>>())?;
    Ok(chosen.map(|at| vec![run.id().to_string(), jobs[at].name.clone()]))
}

/// Returns the name of the one waiting job that `text` selects. A plain name is returned unchanged: the run
/// checks it.
fn waiting(run: &Run, history: &RunHistory, text: &str) -> Result<String, Failure> {
    if history.job(text).is_some() || !selector::may_be_several(text) {
        return Ok(text.to_owned());
    }
    let meant = jobs(run, history, text)?;
    let waiting: Vec<_> = meant.iter().filter(|job| waits(job)).collect();
    match waiting.as_slice() {
        [job] => Ok(job.name.clone()),
        [] => Ok(meant.first().map_or(text, |job| &job.name).to_owned()),
        several => {
            let names: Vec<_> = several.iter().map(|job| shown_name(&job.name)).collect();
            let error = anyhow!("{text:?} matches {} manual jobs", names.len());
            Err(Failure::usage(error)
                .with_help(format!("start them one by one: {}", names.join(", "))))
        }
    }
}

/// Refuses to play a bridge job whose child pipeline waits for a manual job.
fn refuse_waiting_bridge(past: &ProjectRuns, run: &Run, name: &str) -> Result<(), Failure> {
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
        "`runwright play {id} {}` starts the job that it waits for",
        shell_quoted(waiting)
    );
    Err(Failure::usage(error).with_help(help))
}

/// Retries jobs in a run that is still running; returns false if it has just finished.
pub(super) fn retry_now(past: &ProjectRuns, run: &Run, names: &[String]) -> Result<bool, Failure> {
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

/// Cancels a run, or one of its jobs.
pub(crate) fn cancel(args: &CancelArgs) -> Result<Exit, Failure> {
    let (number, names) = split_run(&args.words);
    let past = ProjectRuns::find(&args.place)?;
    let mut run = match number {
        Some(number) => past.run(Some(number))?,
        None => running_run(&past)?,
    };
    let requests = match names {
        [] if args.now => vec![ControlRequest::Abort],
        [] => vec![ControlRequest::Cancel],
        [_] if args.now => {
            let error = anyhow!("--now ends a whole run, not a job");
            return Err(Failure::usage(error).with_help("leave out the job, or --now"));
        }
        [name] => {
            let (owner, text) = past.owner(run, name)?;
            run = owner;
            to_cancel(&run, text)?
        }
        _ => {
            let error = anyhow!("{:?} is not the number of a run", args.words[0]);
            return Err(Failure::usage(error).with_help("`runwright history` shows the runs"));
        }
    };
    for request in requests {
        match tell(&run, &request) {
            Ok(()) => {}
            Err(Told::Failed(failure)) => return Err(failure),
            Err(Told::Gone) => return Err(gone(&run)?),
        }
        let what = match &request {
            ControlRequest::CancelJob { job } => {
                format!("{} of run {}", shown_name(job), run.id())
            }
            _ => format!("run {}", run.id()),
        };
        print(format!("{what} is being canceled\n"))?;
    }
    Ok(Exit::Success)
}

/// Returns the requests that cancel the jobs `text` selects. A name is sent unchanged, since the run knows
/// its jobs best; of several jobs only the unfinished are canceled.
fn to_cancel(run: &Run, text: &str) -> Result<Vec<ControlRequest>, Failure> {
    let cancel = |job: &str| ControlRequest::CancelJob {
        job: job.to_owned(),
    };
    let history = history(run)?;
    if history.job(text).is_some() {
        return Ok(vec![cancel(text)]);
    }
    let meant = match jobs(run, &history, text) {
        Err(_) if !selector::may_be_several(text) => return Ok(vec![cancel(text)]),
        meant => meant?,
    };
    let open = meant.iter().filter(|job| !job.status.is_final());
    let requests: Vec<_> = open.map(|job| cancel(&job.name)).collect();
    if requests.is_empty() {
        let error = anyhow!(
            "all jobs of run {} that {text:?} matches have ended",
            run.id()
        );
        return Err(Failure::usage(error));
    }
    Ok(requests)
}

fn gone(run: &Run) -> Result<Failure, Failure> {
    let how = match run.state(&history(run)?) {
        RunState::Running { .. } => "has not started, or has just ended".to_owned(),
        state => format!("has ended: {state}"),
    };
    Ok(Failure::usage(anyhow!("run {} {how}", run.id())))
}

/// Returns the only run that is running.
fn running_run(past: &ProjectRuns) -> Result<Run, Failure> {
    let mut running = past.running()?;
    let failure = match running.len() {
        1 => return Ok(running.remove(0)),
        0 => Failure::usage(anyhow!("no run is in progress here")),
        _ => {
            let ids: Vec<_> = running.iter().map(|run| run.id().to_string()).collect();
            let error = anyhow!("several runs are in progress: {}", ids.join(", "));
            Failure::usage(error).with_help("name one of them")
        }
    };
    Err(failure)
}

/// Why a request did not reach a run, or was refused.
enum Told {
    /// The run no longer listens.
    Gone,
    Failed(Failure),
}

/// Sends a request to a run and waits for the reply.
fn tell(run: &Run, request: &ControlRequest) -> Result<(), Told> {
    let runtime = runtime::start_on_this_thread().map_err(Told::Failed)?;
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
