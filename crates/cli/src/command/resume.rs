//! `resume`, `retry` and other commands that continue an earlier run.

use super::continued_run::resume_run;
use super::control::retry_now;
use super::project_runs::{ProjectRuns, history, jobs, split_run};
use crate::args::{ResumeArgs, RetryArgs};
use crate::failure::{Exit, Failure};
use anyhow::anyhow;
use console::shell_argument;
use scheduler::Status;
use std::collections::HashSet;
use workstation::{ContinuationKind, JobHistory, Run, RunState};

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
            failure.with_help("it is decided again after a retry of the jobs before it")
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
    Err(Failure::usage(error).with_help(format!("`runwright {verb} {top}` continues both")))
}
