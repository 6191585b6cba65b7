use super::continuation::ContinuationKind;
use super::downstream_runs::DownstreamRuns;
use super::error::RunsError;
use super::journal_line::planned;
use super::run::{Run, logs_of_attempt};
use super::run_history::{JobHistory, RunHistory};
use executor_core::job::When;
use executor_core::variable::JobVariable;
use executor_core::{JobId, JobProducts, JobState};
use job_runner::JobNote;
use pipeline::create::Creation;
use pipeline::{Plan, Selection};
use scheduler::Status;
use scheduler::{BegunJob, DecidingJobs, FinishedJob, RunProgress};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The earlier attempts of a run that is continued, and the jobs that the user wants to run now.
#[derive(Debug)]
pub(crate) struct ContinuedRun {
    pub(crate) kind: ContinuationKind,
    /// Additional variables of the jobs that are played now.
    pub(crate) variables: Vec<JobVariable>,
    history: RunHistory,
    /// The jobs whose downstream pipelines have jobs to run.
    unfinished: HashSet<String>,
}

impl ContinuedRun {
    /// Reads the history of a run whose lock the caller holds.
    pub(crate) fn read(run: &Run, kind: &ContinuationKind) -> Result<Self, RunsError> {
        let history = run.history()?;
        Ok(Self {
            kind: kind.clone(),
            variables: Vec::new(),
            history,
            unfinished: HashSet::new(),
        })
    }

    /// Finds the jobs whose downstream pipelines have jobs to run; `kind` is the kind for those pipelines.
    pub(crate) fn find_unfinished(
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

    /// Returns the ids of all jobs by name, also of those in earlier plans.
    pub(crate) fn ids(&self) -> HashMap<String, JobId> {
        let mut given = HashSet::new();
        let jobs = self.history.all();
        // A damaged journal must not give two jobs the same id, or one without a successor.
        let valid = jobs.filter(|job| job.id.0 < HIGHEST_ID && given.insert(job.id));
        valid.map(|job| (job.name.clone(), job.id)).collect()
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
            // A bridge with status manual waits for jobs of its downstream pipeline.
            let waits = job.is_bridge() && job.definition.when != When::Manual;
            self.unfinished.contains(job.name())
                || known.is_none_or(|known| {
                    let is_played = job.will_start() && !waits;
                    self.history.would_run(known, &self.kind, is_played)
                })
        });
        if would_run {
            return Ok(());
        }
        Err(RunsError::NothingToDo {
            id,
            ended: match end.status {
                Status::Manual => "waits for manual jobs",
                Status::Success => "ended with success",
                Status::Skipped => "had no job",
                Status::Canceled => "was canceled",
                _ => "failed",
            },
            verb: self.kind.as_str(),
        })
    }

    /// Returns the progress of the pipeline without the jobs that should run again. The scheduler decides all
    /// other jobs from there.
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
        // If jobs that ran should run again, all jobs after them must wait.
        let goes_back = |job: &JobHistory| job.status == Status::Canceled || wants_again(job);
        let goes_back = self.history.all().any(goes_back);
        let begun = self
            .history
            .all()
            .filter(|job| !goes_back && (job.has_begun() || is_unfinished(job)));
        let begun = begun.map(|job| {
            let begun = BegunJob {
                // Whether and how it ended is unknown.
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
        let deciding = match &self.kind {
            ContinuationKind::Play(_) | ContinuationKind::PlayBelow { .. } => DecidingJobs::RunNow,
            _ => DecidingJobs::All,
        };
        RunProgress {
            finished,
            begun,
            deciding,
        }
    }

    /// Returns whether a job that ran when the process died can be resumed. One that had ended keeps its result,
    /// as all finished jobs do, unless the user wants to run it again.
    pub(crate) fn can_resume(&self, note: &JobNote, plan: &Plan) -> bool {
        let ran = self.history.all().find(|job| job.id == note.job);
        let now = planned(plan).into_iter().find(|job| job.id == note.job);
        let (Some(ran), Some(now)) = (ran, now) else {
            return false;
        };
        let is_wanted = match note.final_state() {
            Some(JobState::Success) => !self.kind.wants_again(&ran.name, Status::Success),
            Some(_) => !self.kind.wants_again(&ran.name, Status::Failed),
            None => self.kind == ContinuationKind::Resume && !ran.has_changed(now.definition),
        };
        is_wanted && !ran.is_finished() && ran.attempts == note.attempt && ran.name == now.job
    }

    /// Returns what changed since the last attempt, a line each.
    pub(crate) fn changes(&self, plan: &Plan) -> Vec<String> {
        let mut notes = Vec::new();
        match self.history.damaged {
            0 => {}
            1 => notes.push("a line of its journal is damaged and ignored".into()),
            lines => notes.push(format!(
                "{lines} lines of its journal are damaged and ignored"
            )),
        }
        if self.history.attempts == 0 {
            return notes;
        }
        let sha = &plan.context().commit.sha;
        if *sha != self.history.sha {
            let short = |sha: &str| sha.get(..8).unwrap_or(sha).to_owned();
            notes.push(format!(
                "the commit is now {}, and was {}",
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
        notes.extend(note("removed since then", &gone));
        notes.extend(note("changed since then", &changed));
        notes
    }
}

/// A limit that no valid id reaches.
const HIGHEST_ID: u64 = u64::MAX / 2;

/// How many names a note lists.
const MAX_NAMES: usize = 5;

fn note(what: &str, names: &[&str]) -> Option<String> {
    let shown = names.get(..MAX_NAMES).unwrap_or(names);
    let list: Vec<String> = shown.iter().map(|name| format!("{name:?}")).collect();
    let list = list.join(", ");
    match (names.len(), names.len() - shown.len()) {
        (0, _) => None,
        (1, _) => Some(format!("{what}: the job {list}")),
        (_, 0) => Some(format!("{what}: the jobs {list}")),
        (_, more) => Some(format!("{what}: the jobs {list} and {more} more")),
    }
}

#[cfg(test)]
mod tests;
