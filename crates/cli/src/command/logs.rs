use super::project_runs::{ProjectRuns, history, job, jobs, run_and_job};
use super::prompt::one_job;
use super::stdout::print;
use crate::args::{LogsArgs, PlaceArgs};
use crate::failure::{Exit, Failure};
use anyhow::{Context, anyhow};
use console::reports::stored_log::{Reader, Stamps, StoredLog, wait};
use console::{error_line, shown_name, strip_controls};
use scheduler::Status;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;
use workstation::{JobHistory, Run, RunHistory, RunState, Runs};

/// The interval at which a followed log is read.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows the log of a job, in a running or a finished run.
pub(crate) fn logs(args: &LogsArgs) -> Result<Exit, Failure> {
    let Some(words) = named(&args.words, &args.place)? else {
        return Ok(Exit::Interrupted);
    };
    let (number, text) = run_and_job(&words)?;
    if args.attempt == Some(0) {
        return Err(Failure::usage(anyhow!("attempts are counted from 1")));
    }
    let past = ProjectRuns::find(&args.place)?;
    past.refuse_number("logs", &words)?;
    let (run, text) = past.owner(past.run(number)?, text)?;
    let history = history(&run)?;
    let meant = jobs(&run, &history, text)?;
    if let [job] = meant.as_slice() {
        let mut reading = Reading::new(args);
        if args.follow {
            follow(&past.runs, &run, &job.name, args.attempt, &mut reading)?;
        } else {
            let logs = run.logs(job);
            let log = of_attempt(&logs, args.attempt);
            let log = log
                .ok_or_else(|| no_log(&past.runs, &run, &history, job, logs.len(), args.attempt))?;
            reading.show(log)?;
        }
        return Ok(Exit::Success);
    }
    if args.follow {
        let names: Vec<_> = meant.iter().map(|job| shown_name(&job.name)).collect();
        let error = anyhow!(
            "{text:?} matches {} jobs, and only one can be followed",
            names.len()
        );
        return Err(Failure::usage(error).with_help(names.join(", ")));
    }
    for job in meant {
        let logs = run.logs(job);
        print(format!("==> {} <==\n", shown_name(&job.name)))?;
        let Some(log) = of_attempt(&logs, args.attempt) else {
            let why = no_log(&past.runs, &run, &history, job, logs.len(), args.attempt);
            error_line(&strip_controls(&why.message()));
            continue;
        };
        if Reading::new(args).show(log)? == Reader::IsGone {
            break;
        }
    }
    Ok(Exit::Success)
}

/// Returns the words of the command; without any, asks for a job that has run.
fn named(words: &[String], place: &PlaceArgs) -> Result<Option<Vec<String>>, Failure> {
    if !words.is_empty() {
        return Ok(Some(words.to_vec()));
    }
    let past = ProjectRuns::open(place)?;
    let run = past.run(None)?;
    let history = history(&run)?;
    let jobs: Vec<_> = history
        .planned()
        .filter(|job| job.run_attempt > 0)
        .collect();
    if jobs.is_empty() {
        let failure = Failure::usage(anyhow!("no job of run {} has a log", run.id()));
        return Err(failure.with_help("`runwright logs RUN JOB` shows one of an earlier run"));
    }
    let rows = jobs
        .iter()
        .map(|job| format!("{}  {}", shown_name(&job.name), job.status));
    let chosen = one_job("Whose log?", &rows.collect::<Vec<_>>())?;
    Ok(chosen.map(|at| vec![run.id().to_string(), jobs[at].name.clone()]))
}

fn of_attempt(logs: &[PathBuf], attempt: Option<usize>) -> Option<&PathBuf> {
    let wanted = attempt.unwrap_or(logs.len());
    logs.get(wanted.checked_sub(1)?)
}

/// Shows a log until the job has finished for good, from the last existing attempt on.
fn follow(
    runs: &Runs,
    run: &Run,
    name: &str,
    attempt: Option<usize>,
    reading: &mut Reading,
) -> Result<(), Failure> {
    loop {
        // The history is read before the log, so that the log contains everything up to that state.
        let history = history(run)?;
        let lives = matches!(run.state(&history), RunState::Running { .. });
        let job = job(run, &history, name)?;
        let logs = run.logs(job);
        let over = !lives || has_ended(job.status);
        let first = reading
            .next
            .unwrap_or_else(|| attempt.unwrap_or(logs.len()).saturating_sub(1));
        if reading.go_on()? == Reader::IsGone {
            return Ok(());
        }
        for (at, log) in logs.iter().enumerate().skip(first) {
            if attempt.is_some_and(|wanted| at + 1 != wanted) {
                break;
            }
            reading.finish()?;
            reading.next = Some(at + 1);
            if reading.begin(log)? == Reader::IsGone || reading.go_on()? == Reader::IsGone {
                return Ok(());
            }
        }
        // A later attempt means that the requested one has finished.
        let wanted_is_over = attempt.is_some_and(|wanted| logs.len() > wanted);
        if over || wanted_is_over {
            if reading.next.is_none() {
                return Err(no_log(runs, run, &history, job, logs.len(), attempt));
            }
            return reading.finish();
        }
        if wait(PAUSE) == Reader::IsGone {
            return Ok(());
        }
    }
}

fn has_ended(status: Status) -> bool {
    matches!(
        status,
        Status::Success | Status::Failed | Status::Canceled | Status::Skipped
    )
}

fn no_log(
    runs: &Runs,
    run: &Run,
    history: &RunHistory,
    job: &JobHistory,
    logs: usize,
    attempt: Option<usize>,
) -> Failure {
    let (id, name) = (run.id(), &job.name);
    match (logs, attempt) {
        (1.., Some(attempt)) => {
            let error = anyhow!("job {name:?} of run {id} has no attempt {attempt}");
            Failure::usage(error).with_help(format!("it has {logs}"))
        }
        _ if job.run_attempt == 0 => {
            let lives = matches!(run.state(history), RunState::Running { .. });
            let failure = Failure::usage(anyhow!(
                "job {name:?} of run {id} has no log: it did not run, and is {}",
                job.status
            ));
            if lives {
                failure.with_help("-f waits for it")
            } else {
                failure
            }
        }
        _ => match runs.child_of(run, name) {
            Ok(Some(child)) => {
                let child = child.id();
                let error =
                    anyhow!("job {name:?} of run {id} has no log: it started pipeline {child}");
                Failure::usage(error).with_help(format!(
                    "`runwright logs {child} JOB` shows the log of a job there"
                ))
            }
            _ => Failure::usage(anyhow!("there is no log of job {name:?} of run {id}")),
        },
    }
}

/// A log while it is shown.
struct Reading {
    shown: StoredLog,
    open: Option<(PathBuf, File)>,
    /// The index of the next log.
    next: Option<usize>,
}

impl Reading {
    fn new(args: &LogsArgs) -> Self {
        let stamps = if args.timestamps {
            Stamps::Keep
        } else {
            Stamps::LeaveOut
        };
        Self {
            shown: StoredLog::on_stdout(stamps),
            open: None,
            next: None,
        }
    }

    /// Shows the whole of a log, as far as it is written.
    fn show(&mut self, log: &PathBuf) -> Result<Reader, Failure> {
        if self.begin(log)? == Reader::IsGone || self.go_on()? == Reader::IsGone {
            return Ok(Reader::IsGone);
        }
        self.finish()?;
        Ok(Reader::Reads)
    }

    fn begin(&mut self, log: &PathBuf) -> Result<Reader, Failure> {
        let file = File::open(log)
            .with_context(|| format!("read {}", log.display()))
            .map_err(Failure::environment)?;
        self.open = Some((log.clone(), file));
        Ok(Reader::Reads)
    }

    /// Shows what has been written since the last call.
    fn go_on(&mut self) -> Result<Reader, Failure> {
        let Some((path, file)) = &mut self.open else {
            return Ok(Reader::Reads);
        };
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = file
                .read(&mut buffer)
                .with_context(|| format!("read {}", path.display()))
                .map_err(Failure::environment)?;
            if read == 0 {
                return Ok(Reader::Reads);
            }
            if written(self.shown.take(&buffer[..read]))? == Reader::IsGone {
                return Ok(Reader::IsGone);
            }
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        written(self.shown.finish()).map(drop)
    }
}

fn written(done: std::io::Result<Reader>) -> Result<Reader, Failure> {
    done.context("write to standard output")
        .map_err(Failure::environment)
}
