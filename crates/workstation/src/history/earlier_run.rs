//! The earlier life of a run that somebody goes on with.

use super::continuation::ContinuationKind;
use super::error::RunsError;
use super::downstream_runs::DownstreamRuns;
use super::line::planned;
use super::past_run::{Run, logs_of_attempt};
use super::run_history::{JobHistory, RunHistory};
use executor_core::job::When;
use executor_core::variable::JobVariable;
use executor_core::{JobId, JobProducts};
use job_runner::JobNote;
use pipeline::create::Creation;
use pipeline::{Plan, Selection};
use scheduler::Status;
use scheduler::{BegunJob, FinishedJob, RunProgress};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The earlier life of a run that somebody goes on with, and what of it he wants to run.
#[derive(Debug)]
pub(crate) struct Earlier {
    pub(crate) kind: ContinuationKind,
    /// What the jobs that are played now have besides their own variables.
    pub(crate) variables: Vec<JobVariable>,
    history: RunHistory,
    /// The jobs that started pipelines which have something to do.
    unfinished: HashSet<String>,
}

impl Earlier {
    /// Reads what happened in a run whose lock the caller has.
    pub(crate) fn read(run: &Run, kind: &ContinuationKind) -> Result<Self, RunsError> {
        let history = run.history()?;
        Ok(Self {
            kind: kind.clone(),
            variables: Vec::new(),
            history,
            unfinished: HashSet::new(),
        })
    }

    /// Looks for what there is to do in the pipelines that its jobs started.
    /// `kind` is what is wanted of those.
    pub(crate) fn look_below(
        &mut self,
        downstream: &DownstreamRuns,
        project: &Path,
        id: u64,
        kind: &ContinuationKind,
    ) {
        self.unfinished = downstream.unfinished(project, id, kind);
        if let ContinuationKind::RetryJobs(jobs) = &self.kind {
            self.unfinished.retain(|name| jobs.contains(name));
        }
    }

    /// Returns the number of the run's next attempt: the first without logs in `directory`, since the
    /// journal may lack an attempt.
    pub(crate) fn next_attempt(&self, directory: &Path) -> u32 {
        let attempts = self.history.attempts.saturating_add(1)..;
        let mut free = attempts.filter(|&attempt| !logs_of_attempt(directory, attempt).exists());
        free.next().unwrap_or(u32::MAX)
    }

    /// Returns the ids that jobs have by their names, also those that are gone.
    pub(crate) fn ids(&self) -> HashMap<String, JobId> {
        let mut given = HashSet::new();
        let jobs = self.history.all();
        // No two jobs get the same, whatever a damaged journal says, and there is always one above.
        let sound = jobs.filter(|job| job.id.0 < HIGHEST_ID && given.insert(job.id));
        sound.map(|job| (job.name.clone(), job.id)).collect()
    }

    /// Adds the jobs that were played, now or earlier, to a selection. Earlier ones that the created
    /// pipeline no longer has are left out.
    pub(crate) fn add_played(&self, selection: &mut Selection, creation: &Creation) {
        let is_known = |name: &str| creation.job(name).is_some_and(|job| job.is_included);
        let jobs = self.history.all().filter(|job| job.was_played);
        let earlier = jobs.map(|job| &job.name).filter(|name| is_known(name));
        let now = match &self.kind {
            ContinuationKind::Play(jobs) => jobs.as_slice(),
            _ => &[],
        };
        let is_narrow = !(selection.jobs.is_empty() && selection.stages.is_empty());
        let played = if is_narrow {
            &mut selection.jobs
        } else {
            &mut selection.manual
        };
        for name in earlier.chain(now) {
            if !played.contains(name) {
                played.push(name.clone());
            }
        }
    }

    /// Refuses when nothing of the plan would run.
    pub(crate) fn check(&self, id: u64, plan: &Plan) -> Result<(), RunsError> {
        let Some(end) = &self.history.end else {
            return Ok(());
        };
        let would_run = plan.jobs().iter().any(|job| {
            let known = self.history.job(job.name());
            // A bridge that waits for somebody waits for what its pipeline waits for.
            let waits = job.is_bridge() && job.definition.when != When::Manual;
            self.unfinished.contains(job.name())
                || known.is_none_or(|known| {
                    let is_played = job.will_start() && !waits;
                    would_run(&self.kind, &self.history, known, is_played)
                })
        });
        if would_run {
            return Ok(());
        }
        Err(RunsError::NothingToDo {
            id,
            ended: match end.status {
                Status::Manual => "waits for somebody to play a job",
                Status::Success => "ended with success",
                Status::Skipped => "had no job",
                Status::Canceled => "was canceled",
                _ => "failed",
            },
            verb: self.kind.as_str(),
        })
    }

    /// Returns how far the pipeline has come, in the sense of what is wanted: what is not mentioned is
    /// decided as if the pipeline had just come so far.
    pub(crate) fn progress(&self, products: impl Fn(&JobHistory) -> JobProducts) -> RunProgress {
        let is_unfinished = |job: &JobHistory| self.unfinished.contains(&job.name);
        let wants_again = |job: &JobHistory| self.kind.wants_again(&job.name, job.status);
        let keeps =
            |job: &&JobHistory| job.is_finished() && !is_unfinished(job) && !wants_again(job);
        let finished = self.history.all().filter(keeps).map(|job| {
            let finished = FinishedJob {
                status: job.status,
                attempts: job.attempts,
                exit_code: job.exit_code,
                failure_reason: job.failure_reason,
                duration: job.duration,
                allow_failure: job.allow_failure,
                products: Arc::new(products(job)),
                reused: job.reused,
            };
            (job.name.clone(), finished)
        });
        let finished = finished.collect();
        // Where jobs that ran are to run again, all behind them has to wait for that.
        let goes_back = |job: &JobHistory| job.status == Status::Canceled || wants_again(job);
        let goes_back = self.history.all().any(goes_back);
        let begun = self
            .history
            .all()
            .filter(|job| !goes_back && (job.has_begun() || is_unfinished(job)));
        let begun = begun.map(|job| {
            let begun = BegunJob {
                // How it ended is not known, if it did.
                status: if job.status.is_final() || is_unfinished(job) {
                    Status::Running
                } else {
                    job.status
                },
                attempt: job.attempts.max(1),
                played: job.was_played,
                again: job.is_again,
                since: job.since,
                variables: Vec::new(),
            };
            (job.name.clone(), begun)
        });
        let mut begun: BTreeMap<_, _> = begun.collect();
        if let ContinuationKind::Play(jobs) = &self.kind {
            for name in jobs {
                let played = BegunJob {
                    played: true,
                    variables: self.variables.clone(),
                    ..BegunJob::new(Status::Created, 1)
                };
                begun.insert(name.clone(), played);
            }
        }
        RunProgress { finished, begun }
    }

    /// Returns whether a job that ran when the process died can be resumed.
    pub(crate) fn can_resume(&self, note: &JobNote, plan: &Plan) -> bool {
        let ran = self.history.all().find(|job| job.id == note.job);
        let now = planned(plan).into_iter().find(|job| job.id == note.job);
        let (Some(ran), Some(now)) = (ran, now) else {
            return false;
        };
        self.kind == ContinuationKind::Resume
            && !ran.is_finished()
            && ran.attempts == note.attempt
            && ran.name == now.job
            && !ran.has_changed(now.definition)
    }

    /// Returns what is not as it was, a line each.
    pub(crate) fn changes(&self, plan: &Plan) -> Vec<String> {
        let mut notes = Vec::new();
        match self.history.damaged {
            0 => {}
            1 => notes.push("a line of its journal cannot be read, and counts for nothing".into()),
            lines => notes.push(format!(
                "{lines} lines of its journal cannot be read, and count for nothing"
            )),
        }
        if self.history.attempts == 0 {
            return notes;
        }
        let sha = &plan.context().commit.sha;
        if *sha != self.history.sha {
            let short = |sha: &str| sha.get(..8).unwrap_or(sha).to_owned();
            notes.push(format!(
                "the commit is another one: {}, and was {}",
                short(sha),
                short(&self.history.sha)
            ));
        }
        let now = planned(plan);
        let mut new = Vec::new();
        let mut changed = Vec::new();
        for job in &now {
            match self.history.job(&job.job) {
                Some(known) if known.has_changed(job.definition) => changed.push(&*job.job),
                Some(_) => {}
                None => new.push(&*job.job),
            }
        }
        let is_gone = |job: &&JobHistory| plan.position(&job.name).is_none();
        let gone = self.history.planned().filter(is_gone);
        let gone: Vec<&str> = gone.map(|job| &*job.name).collect();
        notes.extend(note("new since then", &new));
        notes.extend(note("not there any more", &gone));
        notes.extend(note("changed since then", &changed));
        notes
    }
}

/// Returns whether a job of a run that has ended is run.
pub(super) fn would_run(
    kind: &ContinuationKind,
    history: &RunHistory,
    job: &JobHistory,
    is_played: bool,
) -> bool {
    let waits = history.end.is_some_and(|end| end.status == Status::Manual);
    if job.has_run() && kind.wants_again(&job.name, job.status) {
        return true;
    }
    match job.status {
        // One that is skipped runs behind another; by itself it stays what it is.
        Status::Success | Status::Failed | Status::Skipped => false,
        // Behind a job that waits for somebody.
        Status::Created if waits => false,
        Status::Manual => is_played,
        _ => true,
    }
}

/// No job that was ever planned has an id as high.
const HIGHEST_ID: u64 = u64::MAX / 2;

/// So many names are told; of more, how many there are.
const MOST_NAMES: usize = 5;

fn note(what: &str, names: &[&str]) -> Option<String> {
    let told = names.get(..MOST_NAMES).unwrap_or(names);
    let list: Vec<String> = told.iter().map(|name| format!("{name:?}")).collect();
    let list = list.join(", ");
    match (names.len(), names.len() - told.len()) {
        (0, _) => None,
        (1, _) => Some(format!("{what}: the job {list}")),
        (_, 0) => Some(format!("{what}: the jobs {list}")),
        (_, more) => Some(format!("{what}: the jobs {list} and {more} more")),
    }
}

#[cfg(test)]
mod tests;
