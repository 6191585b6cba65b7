use super::entry::Entry;
use super::job_key::JobKey;
use super::options::ReuseMode;
use super::project_reuse::{Around, ProjectReuse};
use super::replay::replay;
use super::unfit::Unfit;
use crate::history::dotenv_of;
use async_trait::async_trait;
use content_store::{EntryKind, StoreError};
use executor_core::job::Job;
use executor_core::{
    JobAssignment, JobId, JobObserver, JobOutcome, JobRunner, JobState, ReusedFrom, RunContext,
};
use fail_point::fail_point;
use job_runner::{
    ArtifactStore, Snapshot, Sources, StoredArtifacts, VisitPoint, Visitor, spool_file,
};
use std::error::Error;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use trace::Stamper;

/// Runs jobs with another runner, and those not that began with the same in an earlier run: their log
/// and what they left is taken from there.
///
/// No trouble with what is kept makes a job fail: it runs then.
#[derive(Debug)]
pub(crate) struct ReuseRunner {
    /// Runs the jobs.
    pub(crate) inner: Arc<dyn JobRunner>,
    pub(crate) reuse: Arc<ProjectReuse>,
    /// Where the files of jobs come from.
    pub(crate) sources: Sources,
    /// Where the artifacts of the pipeline are.
    pub(crate) own: StoredArtifacts,
    /// Where its jobs get artifacts from.
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    /// Where its logs are.
    pub(crate) logs: PathBuf,
    /// Who enters its jobs.
    pub(crate) visitor: Option<Arc<dyn Visitor>>,
    /// The jobs that are gone on with: what those began with is not what would be found now.
    pub(crate) left: Vec<JobId>,
}

/// What comes of a job that was kept.
struct Taken {
    outcome: JobOutcome,
    log: PathBuf,
}

#[async_trait]
impl JobRunner for ReuseRunner {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        if self.is_entered(&assignment) || self.left.contains(&assignment.job.id) {
            return self.inner.run(assignment, context).await;
        }
        let key = self.key(&assignment, &context).await;
        let name = &assignment.job.job_info.name;
        let key = match key {
            Ok(key) => key,
            Err(why) => {
                self.tell_of_unfit(name, &why);
                return self.inner.run(assignment, context).await;
            }
        };
        // Whoever asks for a further attempt wants it to run.
        let may_take = self.reuse.mode == ReuseMode::On && assignment.attempt == 1;
        if may_take && !assignment.cancellation.is_canceled() {
            let started = Instant::now();
            if let Some(taken) = self.take(&assignment, &key).await {
                return show(taken, started, &*assignment.observer);
            }
            self.tell_of_change(name, &key).await;
        }
        let (job, attempt) = (Arc::clone(&assignment.job), assignment.attempt);
        let cancellation = assignment.cancellation.clone();
        let outcome = self.inner.run(assignment, context).await;
        if outcome.state == JobState::Success
            && !outcome.trace.truncated
            && !cancellation.is_canceled()
            && self.snapshot().is_some_and(Snapshot::matches_contents)
        {
            self.keep(key, job, attempt, outcome.clone()).await;
        }
        outcome
    }
}

impl ReuseRunner {
    fn snapshot(&self) -> Option<&Snapshot> {
        match &self.sources {
            Sources::Snapshot(snapshot) => Some(snapshot),
            _ => None,
        }
    }

    /// Returns whether somebody is there in place of the job's scripts.
    fn is_entered(&self, assignment: &JobAssignment) -> bool {
        let JobAssignment { job, attempt, .. } = assignment;
        let point = VisitPoint::InPlaceOfScripts;
        let visitor = self.visitor.as_ref();
        visitor.is_some_and(|it| it.enters(job, *attempt, &point))
    }

    async fn key(&self, assignment: &JobAssignment, context: &RunContext) -> Result<JobKey, Unfit> {
        let around = Around {
            snapshot: self.snapshot().ok_or(Unfit::Sources)?,
            artifacts: &*self.artifacts,
            context,
            cancellation: &assignment.cancellation,
        };
        self.reuse.key(&assignment.job, &around).await
    }

    /// Takes what is kept under a key, if it is there, so that it is this run's own.
    async fn take(&self, assignment: &JobAssignment, key: &JobKey) -> Option<Taken> {
        let (reuse, own, key) = (Arc::clone(&self.reuse), self.own.clone(), key.clone());
        let job = assignment.job.id;
        let log = spool_file(&self.logs, job, assignment.attempt);
        let cancellation = assignment.cancellation.clone();
        let take = move || -> Result<Option<Taken>, Box<dyn Error + Send + Sync>> {
            // From here until this run names them, nobody removes the trees.
            let _held = reuse.store.content().hold(&cancellation)?;
            let Some(entry) = reuse.store.find(&key) else {
                return Ok(None);
            };
            let mut products = entry.products();
            products.dotenv = dotenv_of(&own, &entry.artifacts)?;
            // Last the artifacts: a job that has some is a job that was taken.
            let written = write_log(&reuse, &entry, &log).map_err(Into::into);
            let taken = || own.take_over(job, entry.artifacts.clone());
            if let Err(error) = written.and_then(|()| Ok(taken()?)) {
                // The job is going to run, and makes its own.
                let _ = fs::remove_file(&log);
                return Err(error);
            }
            reuse.store.touch(&key);
            let outcome = JobOutcome {
                products: Arc::new(products),
                reused: Some(entry.from),
                ..JobOutcome::success()
            };
            Ok(Some(Taken { outcome, log }))
        };
        match tokio::task::spawn_blocking(take).await {
            Ok(Ok(taken)) => taken,
            Ok(Err(error)) => {
                tracing::warn!(%job, error = &*error as &dyn Error, "A kept job cannot be taken, and runs.");
                None
            }
            Err(_) => None,
        }
    }

    /// Keeps a job that has succeeded.
    async fn keep(&self, key: JobKey, job: Arc<Job>, attempt: u32, outcome: JobOutcome) {
        let (reuse, own, logs) = (Arc::clone(&self.reuse), self.own.clone(), self.logs.clone());
        let keep = move || {
            // Whoever stops the run has to wait no longer than for a log to be copied.
            let nobody_stops = executor_core::Cancellation::new();
            reuse.store.keep(&key, &nobody_stops, |content| {
                let log = spool_file(&logs, job.id, attempt);
                let name = log.file_name().map(PathBuf::from).unwrap_or_default();
                let kept = content.keep(&logs, &[name], &nobody_stops)?;
                let artifacts = own.of_job(job.id).map_err(|error| StoreError::File {
                    action: "read",
                    path: logs.clone(),
                    source: io::Error::other(error),
                })?;
                let from = ReusedFrom {
                    pipeline: job.job_info.pipeline_id,
                    duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
                };
                let log = (kept.tree().digest(), kept.tree().bytes());
                let name = &job.job_info.name;
                Ok(Entry::new(
                    &key,
                    name,
                    from,
                    artifacts,
                    &outcome.products,
                    log,
                ))
            })
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(keep).await {
            let error = &error as &dyn Error;
            tracing::warn!(error, "A job is not kept for later runs.");
        }
    }

    /// Says why a job runs that always does, where its author may not expect it.
    fn tell_of_unfit(&self, job: &str, why: &Unfit) {
        tracing::debug!(job, %why, "The job always runs.");
        let is_expected = matches!(
            why,
            Unfit::Manual | Unfit::OnFailure | Unfit::Keyword(_) | Unfit::Unknown
        );
        if !is_expected {
            self.reuse.tell(job, &format!("is never reused: {why}"));
        }
    }

    /// Says what is not as it was the last time, if there was one.
    async fn tell_of_change(&self, job: &str, key: &JobKey) {
        let (reuse, key) = (Arc::clone(&self.reuse), key.clone());
        let compare = move || reuse.store.compare(&key);
        if let Ok(Some((parts, run))) = tokio::task::spawn_blocking(compare).await
            && !parts.is_empty()
        {
            let parts = parts.join(", ");
            let reason = format!("is not reused: not as in run {run}: {parts}");
            self.reuse.tell(job, &reason);
        }
    }
}

/// Writes the log of a kept job as that of this run, and in front of it where it is from.
fn write_log(reuse: &ProjectReuse, entry: &Entry, to: &Path) -> io::Result<()> {
    let content = reuse.store.content();
    let digest = entry
        .log()
        .ok_or_else(|| io::Error::other("it has no log"))?;
    let tree = content.tree(digest).map_err(io::Error::other)?;
    let mut files = tree.entries().iter().filter_map(|entry| match entry.kind {
        EntryKind::File { content, .. } => Some(content),
        _ => None,
    });
    let log = files
        .next()
        .ok_or_else(|| io::Error::other("its log is empty"))?;
    let mut from = content.open_content(log).map_err(io::Error::other)?;
    let directory = to.parent().unwrap_or(Path::new(""));
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    fail_point!("runwright::reuse::make_logs", builder.create(directory))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut write = || -> io::Result<()> {
        let mut file = options.open(to)?;
        let line = format!(
            "Reused from run {}: all that this job begins with is as it was there.\n",
            entry.pipeline()
        );
        let mut bytes = Vec::new();
        let mut stamper = Stamper::new(executor_core::TraceStream::SYSTEM);
        stamper.feed(SystemTime::now(), line.as_bytes(), &mut bytes);
        file.write_all(&bytes)?;
        io::copy(&mut from, &mut file).map(drop)
    };
    fail_point!("runwright::reuse::write_log", write())
}

/// Shows a kept job as if it ran. By now it is taken, so what cannot be shown is in its log.
fn show(taken: Taken, started: Instant, observer: &dyn JobObserver) -> JobOutcome {
    let Taken { mut outcome, log } = taken;
    observer.started();
    let shown = File::open(&log).and_then(|file| replay(file, observer));
    if let Err(error) = shown {
        tracing::warn!(%error, "The log of a kept job cannot be shown.");
    }
    outcome.duration = started.elapsed();
    outcome
}
