use super::entry::Entry;
use super::job_key::JobKey;
use super::not_reusable::NotReusable;
use super::options::ReuseMode;
use super::project_reuse::{KeyContext, ProjectReuse};
use super::replay::replay;
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
use process::make_private_dir_all;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use trace::Stamper;

/// Reuses the results of earlier jobs with the same inputs; runs other jobs with another runner.
///
/// If anything about a stored result fails, the job runs.
#[derive(Debug)]
pub(crate) struct ReuseRunner {
    pub(crate) inner: Arc<dyn JobRunner>,
    pub(crate) reuse: Arc<ProjectReuse>,
    pub(crate) sources: Sources,
    /// The artifacts of this pipeline.
    pub(crate) own: StoredArtifacts,
    /// The artifacts that its jobs may get, also of pipelines above.
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    /// The directory of its logs.
    pub(crate) logs: PathBuf,
    pub(crate) visitor: Option<Arc<dyn Visitor>>,
    /// The resumed jobs, whose inputs can no longer be read.
    pub(crate) resumed: Vec<JobId>,
}

/// The result of a job that was reused.
struct Reused {
    outcome: JobOutcome,
    log: PathBuf,
}

#[async_trait]
impl JobRunner for ReuseRunner {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        if self.is_entered(&assignment) || self.resumed.contains(&assignment.job.id) {
            return self.inner.run(assignment, context).await;
        }
        let key = self.key(&assignment, &context).await;
        let name = &assignment.job.job_info.name;
        let key = match key {
            Ok(key) => key,
            Err(reason) => {
                self.show_not_reusable(name, &reason);
                return self.inner.run(assignment, context).await;
            }
        };
        // A retry should run.
        let may_reuse = self.reuse.mode == ReuseMode::On && assignment.attempt == 1;
        if may_reuse && !assignment.cancellation.is_canceled() {
            let started = Instant::now();
            if let Some(reused) = self.reuse(&assignment, &key).await {
                return show(reused, started, &*assignment.observer);
            }
            self.show_changes(name, &key).await;
        }
        let (job, attempt) = (Arc::clone(&assignment.job), assignment.attempt);
        let cancellation = assignment.cancellation.clone();
        let outcome = self.inner.run(assignment, context).await;
        if outcome.state == JobState::Success
            && !outcome.trace.truncated
            && !cancellation.is_canceled()
            && self.snapshot().is_some_and(Snapshot::matches_contents)
        {
            self.store(key, job, attempt, outcome.clone()).await;
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

    /// Returns whether a user enters the job instead of its scripts.
    fn is_entered(&self, assignment: &JobAssignment) -> bool {
        let JobAssignment { job, attempt, .. } = assignment;
        let point = VisitPoint::InPlaceOfScripts;
        let visitor = self.visitor.as_ref();
        visitor.is_some_and(|it| it.enters(job, *attempt, &point))
    }

    async fn key(
        &self,
        assignment: &JobAssignment,
        context: &RunContext,
    ) -> Result<JobKey, NotReusable> {
        let inputs = KeyContext {
            snapshot: self.snapshot().ok_or(NotReusable::Sources)?,
            artifacts: &*self.artifacts,
            context,
            cancellation: &assignment.cancellation,
        };
        self.reuse.key(&assignment.job, &inputs).await
    }

    /// Copies the stored result of a key into this run, if there is one.
    async fn reuse(&self, assignment: &JobAssignment, key: &JobKey) -> Option<Reused> {
        let (reuse, own, key) = (Arc::clone(&self.reuse), self.own.clone(), key.clone());
        let job = assignment.job.id;
        let log = spool_file(&self.logs, job, assignment.attempt);
        let cancellation = assignment.cancellation.clone();
        let reuse_stored = move || -> Result<Option<Reused>, Box<dyn Error + Send + Sync>> {
            // Until this run lists the trees, no sweep must remove them.
            let _held = reuse.store.content().hold(&cancellation)?;
            let Some(entry) = reuse.store.find(&key) else {
                return Ok(None);
            };
            let mut products = entry.products();
            products.dotenv = dotenv_of(&own, &entry.artifacts)?;
            // The artifacts last: they mark the job as reused.
            let written = write_log(&reuse, &entry, &log).map_err(Into::into);
            let take_over = || own.take_over(job, entry.artifacts.clone());
            if let Err(error) = written.and_then(|()| Ok(take_over()?)) {
                // The job will run and write its own log.
                let _ = fs::remove_file(&log);
                return Err(error);
            }
            reuse.store.touch(&key);
            let outcome = JobOutcome {
                products: Arc::new(products),
                reused: Some(entry.from),
                ..JobOutcome::success()
            };
            Ok(Some(Reused { outcome, log }))
        };
        match tokio::task::spawn_blocking(reuse_stored).await {
            Ok(Ok(reused)) => reused,
            Ok(Err(error)) => {
                tracing::warn!(%job, error = &*error as &dyn Error, "A stored result cannot be reused, and the job runs.");
                None
            }
            Err(_) => None,
        }
    }

    /// Stores the result of a successful job.
    async fn store(&self, key: JobKey, job: Arc<Job>, attempt: u32, outcome: JobOutcome) {
        let (reuse, own, logs) = (Arc::clone(&self.reuse), self.own.clone(), self.logs.clone());
        let keep = move || {
            // Copying a log is too short to need cancellation.
            let never = executor_core::Cancellation::new();
            reuse.store.keep(&key, &never, |content| {
                let log = spool_file(&logs, job.id, attempt);
                let name = log.file_name().map(PathBuf::from).unwrap_or_default();
                let kept = content.keep(&logs, &[name], &never)?;
                let artifacts = own.of_job(job.id).map_err(|error| StoreError::File {
                    action: "read",
                    path: logs.clone(),
                    source: io::Error::other(error),
                })?;
                let from = ReusedFrom {
                    pipeline: job.job_info.pipeline_id,
                    duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
                };
                let (log, log_bytes) = (kept.tree().digest(), kept.tree().bytes());
                let name = &job.job_info.name;
                Ok(Entry::new(
                    &key,
                    name,
                    from,
                    artifacts,
                    &outcome.products,
                    log,
                    log_bytes,
                ))
            })
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(keep).await {
            let error = &error as &dyn Error;
            tracing::warn!(error, "The result of a job is not stored.");
        }
    }

    /// Shows why a job always runs, unless that is obvious.
    fn show_not_reusable(&self, job: &str, reason: &NotReusable) {
        tracing::debug!(job, %reason, "The job always runs.");
        let is_expected = matches!(
            reason,
            NotReusable::Manual
                | NotReusable::OnFailure
                | NotReusable::Keyword(_)
                | NotReusable::Unknown
        );
        if !is_expected {
            self.reuse
                .show_reason(job, &format!("is never reused: {reason}"));
        }
    }

    /// Shows which inputs changed since the last stored result, if there is one.
    async fn show_changes(&self, job: &str, key: &JobKey) {
        let (reuse, key) = (Arc::clone(&self.reuse), key.clone());
        let compare = move || reuse.store.compare(&key);
        if let Ok(Some((parts, run))) = tokio::task::spawn_blocking(compare).await
            && !parts.is_empty()
        {
            let parts = parts.join(", ");
            let reason = format!("is not reused: not as in run {run}: {parts}");
            self.reuse.show_reason(job, &reason);
        }
    }
}

/// Copies a stored log into this run, with a first line that names its run.
fn write_log(reuse: &ProjectReuse, entry: &Entry, to: &Path) -> io::Result<()> {
    let content = reuse.store.content();
    let digest = entry
        .log()
        .ok_or_else(|| io::Error::other("the result has no log"))?;
    let tree = content.tree(digest).map_err(io::Error::other)?;
    let mut files = tree.entries().iter().filter_map(|entry| match entry.kind {
        EntryKind::File { content, .. } => Some(content),
        _ => None,
    });
    let log = files
        .next()
        .ok_or_else(|| io::Error::other("the log of the result is missing"))?;
    let mut from = content.open_content(log).map_err(io::Error::other)?;
    let directory = to.parent().unwrap_or(Path::new(""));
    fail_point!(
        "workstation::reuse::make_logs",
        make_private_dir_all(directory)
    )?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut write = || -> io::Result<()> {
        let mut file = options.open(to)?;
        let line = format!(
            "Reused from run {}: all inputs of this job are as they were there.\n",
            entry.pipeline()
        );
        let mut bytes = Vec::new();
        let mut stamper = Stamper::new(executor_core::TraceStream::SYSTEM);
        stamper.feed(SystemTime::now(), line.as_bytes(), &mut bytes);
        file.write_all(&bytes)?;
        io::copy(&mut from, &mut file).map(drop)
    };
    fail_point!("workstation::reuse::write_log", write())
}

/// Shows the log of a reused job as if it ran. If that fails, the log is still in this run.
fn show(reused: Reused, started: Instant, observer: &dyn JobObserver) -> JobOutcome {
    let Reused { mut outcome, log } = reused;
    observer.started();
    let shown = File::open(&log).and_then(|file| replay(file, observer));
    if let Err(error) = shown {
        tracing::warn!(%error, "The log of a reused job cannot be shown.");
    }
    outcome.duration = started.elapsed();
    outcome
}
