//! One turn of a runner: a poll, and the job that came of it.

use crate::api::{JobAnswer, JobStatus};
use crate::debug::ListedJob;
use crate::delivery::Delivery;
use crate::entry::EntryContext;
use crate::metrics::StageClock;
use crate::outbox::{ATTEMPT, JobEnd, JobFiles, JobRecord, LeftJob};
use crate::pace::Polled;
use crate::repository;
use crate::session::OpenSession;
use crate::slots::Slot;
use crate::spans::JobSpans;
use async_trait::async_trait;
use executor_core::job::{Job, JobId, SecretString};
use executor_core::{
    Cancellation, FailureReason, JobAssignment, JobOutcome, JobRequest, JobRunner, JobSlotGuard,
    JobSlots, JobSource, JobSourceError, NextJob, RunContext,
};
use gitlab_api::runner::{JobUpdate, UpdateState};
use jiff::Timestamp;
use job_runner::{BuildRunner, BuildRunnerOptions, JobNote, JobNotes};
use parking_lot::Mutex;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use web::Url;

/// The time between two messages that a received job is not forgotten, while it waits for a slot.
const WAITING: Duration = Duration::from_secs(30);

/// How long a poll may go on after a stop: a job may be on its way.
const LAST_POLL: Duration = Duration::from_secs(2);

/// The number of attempts to acknowledge a job. It runs even if the server cannot take the message, as with GitLab Runner.
const ACKNOWLEDGE_ATTEMPTS: u32 = 5;

/// A turn: the source of one job, and its runner.
#[derive(Debug)]
pub(crate) struct Turn {
    context: Arc<EntryContext>,
    /// The stop of the process: a job that waits for a slot outlives a change of its entry.
    shutdown: Cancellation,
    poll: Mutex<Option<Poll>>,
    /// The job to take over, in place of a poll.
    left: Mutex<Option<LeftJob>>,
    /// Its numbers, which no other job gets meanwhile.
    _reserved: Option<JobSlotGuard>,
    /// The session of the request, until there is a job.
    session: Mutex<Option<OpenSession>>,
    job: Mutex<Option<RunningJob>>,
}

/// A poll that its entry counts until this is dropped.
#[derive(Debug)]
struct Poll {
    began: Instant,
    result: Polled,
    ended: mpsc::UnboundedSender<(Polled, Instant)>,
}

impl Drop for Poll {
    fn drop(&mut self) {
        // The entry has ended if it does not listen.
        let _ = self.ended.send((self.result, self.began));
    }
}

/// The job of a turn.
#[derive(Debug)]
struct RunningJob {
    id: JobId,
    kept: KeptJob,
    end: watch::Sender<Option<JobEnd>>,
    clock: Arc<StageClock>,
    listed: ListedJob,
    /// Closed when the job has ended. One that was taken over has none: GitLab knows that of the former process.
    session: Option<OpenSession>,
    /// Free again when the job has ended.
    _slot: Slot,
}

/// A job on disk.
#[derive(Debug)]
struct KeptJob {
    files: JobFiles,
    notes: JobNotes,
    /// The note of the process that began the job, if that was another one.
    resumed: Option<JobNote>,
}

impl Turn {
    /// Returns a turn that reports the end of its poll.
    pub(crate) fn new(
        context: Arc<EntryContext>,
        ended: mpsc::UnboundedSender<(Polled, Instant)>,
        shutdown: Cancellation,
    ) -> Self {
        let poll = Poll {
            began: Instant::now(),
            result: Polled::NotAsked,
            ended,
        };
        Self {
            context,
            shutdown,
            poll: Mutex::new(Some(poll)),
            left: Mutex::new(None),
            _reserved: None,
            session: Mutex::new(None),
            job: Mutex::new(None),
        }
    }

    /// Returns a turn that takes over a job of an earlier process, whose numbers are among these.
    pub(crate) fn of_left(
        context: Arc<EntryContext>,
        left: LeftJob,
        numbers: &JobSlots,
        shutdown: Cancellation,
    ) -> Self {
        let project = left.job.job_info.project_id;
        Self {
            context,
            shutdown,
            poll: Mutex::new(None),
            _reserved: Some(numbers.reserve(project, left.note.slot())),
            left: Mutex::new(Some(left)),
            session: Mutex::new(None),
            job: Mutex::new(None),
        }
    }

    /// Returns whether a job of an earlier process is not taken over yet.
    pub(crate) fn has_left(&self) -> bool {
        self.left.lock().is_some()
    }

    fn poll_ended(&self, result: Polled) {
        if let Some(mut poll) = self.poll.lock().take() {
            poll.result = result;
        }
    }

    /// Asks for a job. `None` means that the runner stops.
    async fn ask(
        &self,
        message: &gitlab_api::runner::JobRequest,
        stop: &Cancellation,
    ) -> Option<JobAnswer> {
        let stopped = async {
            stop.canceled().await;
            sleep(LAST_POLL).await;
        };
        let answer = tokio::select! {
            answer = self.context.server.request_job(message) => answer,
            () = stopped => return None,
        };
        Some(answer.unwrap_or_else(|error| {
            self.context.poll_failed(&error);
            JobAnswer::Unavailable {
                status: 0,
                retry_after: None,
            }
        }))
    }

    /// Makes a received job one of this process: a slot, a record on disk, the server's consent.
    async fn accept(&self, mut job: Job) -> NextJob {
        let context = &self.context;
        let clone_url = context.settings.clone_url.as_deref();
        let clone_url = clone_url.and_then(|it| Url::parse(it).ok());
        repository::prepare(&mut job, &context.settings.url, clone_url.as_ref());
        context.add_variables(&mut job);
        // The poll is over as far as its entry is concerned; another one may begin while this job waits.
        self.poll_ended(Polled::Job);
        let record = context.record(&job);
        // A job that is not acknowledged is another runner's after a while.
        let Some(slot) = self.wait_for_slot(&record).await else {
            return NextJob::None;
        };
        let files = match context.process.outbox.accept(&record) {
            Ok(files) => files,
            Err(error) => {
                tracing::error!(job = %job.id, error = &error as &dyn Error, "A job is refused, because it cannot be recorded.");
                let end = JobEnd::failed(FailureReason::RunnerSystemFailure);
                context.report(&record, &end).await;
                return NextJob::None;
            }
        };
        let cancellation = context.process.jobs.child();
        match self.acknowledge(&record).await {
            Acknowledged::Yes => {}
            Acknowledged::Dropped => {
                tracing::info!(job = %job.id, "The server has withdrawn a job.");
                remove(&files);
                return NextJob::None;
            }
            Acknowledged::Canceled => {
                let end = JobEnd::failed(FailureReason::JobCanceled);
                if let Err(error) = files.write_end(&end) {
                    tracing::error!(job = %job.id, error = &error as &dyn Error, "The end of a job is not on disk.");
                }
                let (_, ended) = watch::channel(Some(end));
                let (server, times) = (context.server.clone(), context.process.times);
                let delivery =
                    Delivery::new(server, files, record, cancellation, ended, None, times);
                context.process.post(delivery);
                return NextJob::None;
            }
        }
        let notes = JobNotes::of_job(files.notes(), &job);
        tracing::info!(job = %job.id, runner = %context.settings.config.name, project = %job.job_info.project_full_path, "Job received.");
        let kept = KeptJob {
            files,
            notes,
            resumed: None,
        };
        self.begin(job, record, kept, cancellation, slot)
    }

    /// Waits for a slot, and keeps the job meanwhile. `None` if it is withdrawn, or the runner stops.
    async fn wait_for_slot(&self, record: &JobRecord) -> Option<Slot> {
        let slot = self.context.process.slots.take();
        tokio::pin!(slot);
        loop {
            tokio::select! {
                biased;
                slot = &mut slot => return Some(slot),
                _ = self.shutdown.canceled() => return None,
                () = sleep(WAITING) => {}
            }
            let update = JobUpdate {
                info: record.info.clone(),
                token: record.token.clone(),
                state: UpdateState::Pending,
                ..JobUpdate::default()
            };
            let answer = self.context.server.update_job(record.job, &update).await;
            if answer.is_ok_and(|it| matches!(it.status, 403 | 404)) {
                tracing::info!(job = record.job, "The server has withdrawn a job.");
                return None;
            }
        }
    }

    /// Takes over a job of an earlier process.
    async fn take_over(&self, left: LeftJob) -> NextJob {
        let LeftJob {
            files,
            record,
            job,
            note,
        } = left;
        let slot = tokio::select! {
            biased;
            // Its files are for the next process.
            _ = self.shutdown.aborted() => return NextJob::Closed,
            slot = self.context.process.slots.take() => slot,
        };
        let notes = JobNotes::of_job(files.notes(), &job).continued(&note);
        tracing::info!(job = %job.id, runner = %self.context.settings.config.name, project = %job.job_info.project_full_path, "Job taken over.");
        let cancellation = self.context.process.jobs.child();
        let kept = KeptJob {
            files,
            notes,
            resumed: Some(note.counted_from_start(record.accepted_at)),
        };
        self.begin(job, record, kept, cancellation, slot)
    }

    /// Begins the delivery of a job, and hands it to the worker.
    fn begin(
        &self,
        job: Job,
        record: JobRecord,
        kept: KeptJob,
        cancellation: Cancellation,
        slot: Slot,
    ) -> NextJob {
        let context = &self.context;
        let (end, ended) = watch::channel(None);
        let accepted_at = record.accepted_at;
        let began = accepted_at.into();
        let (files, notes) = (&kept.files, &kept.notes);
        let delivery = Delivery::new(
            context.server.clone(),
            files.clone(),
            record,
            cancellation.clone(),
            ended,
            Some(notes.clone()),
            context.process.times,
        );
        let (settings, clock) = (&context.settings, Arc::<StageClock>::default());
        let version = &context.process.version;
        let spans = JobSpans::of(&job, settings.id, &settings.config, version, &clock, began);
        context.process.post(delivery.with_spans(spans));
        let mut running = context.process.notes.lock();
        running.insert(files.directory().to_owned(), notes.clone());
        drop(running);
        context.process.taken.send_modify(|it| *it += 1);
        context.metrics.job_started(&job.job_info);
        let list = &context.process.job_list;
        *self.job.lock() = Some(RunningJob {
            id: job.id,
            kept,
            end,
            clock: Arc::clone(&clock),
            listed: list.add(&job, accepted_at, &settings.url, &settings.config),
            session: self.session.lock().take(),
            _slot: slot,
        });
        NextJob::Job(Box::new(JobAssignment {
            job: Arc::new(job),
            attempt: ATTEMPT,
            observer: clock,
            cancellation,
        }))
    }

    /// Tells the server that the job is going to run.
    async fn acknowledge(&self, record: &JobRecord) -> Acknowledged {
        let update = JobUpdate {
            info: record.info.clone(),
            token: record.token.clone(),
            ..JobUpdate::default()
        };
        for attempt in 0..ACKNOWLEDGE_ATTEMPTS {
            match self.context.server.update_job(record.job, &update).await {
                Ok(answer) if matches!(answer.status, 403 | 404) => return Acknowledged::Dropped,
                Ok(answer) if answer.is_success() => {
                    return match answer.job_status {
                        JobStatus::Running => Acknowledged::Yes,
                        JobStatus::Canceling => Acknowledged::Canceled,
                        JobStatus::Ended => Acknowledged::Dropped,
                    };
                }
                Ok(answer) if answer.status < 500 && answer.status != 429 => {
                    return Acknowledged::Yes;
                }
                _ => sleep(Duration::from_millis(100) * 2_u32.pow(attempt)).await,
            }
        }
        Acknowledged::Yes
    }
}

/// The server's answer to an acknowledgment.
enum Acknowledged {
    Yes,
    /// The job is another runner's, or has ended.
    Dropped,
    /// It is to be canceled.
    Canceled,
}

fn remove(files: &JobFiles) {
    if let Err(error) = files.remove() {
        tracing::warn!(error = &error as &dyn Error, "The record of a job remains.");
    }
}

#[async_trait]
impl JobSource for Turn {
    async fn next(
        &self,
        request: &JobRequest,
        stop: &Cancellation,
    ) -> Result<NextJob, JobSourceError> {
        let _asking = Arc::clone(&self.context.process.asking);
        let left = self.left.lock().take();
        if let Some(left) = left {
            // In a box, as an open poll needs no room for it.
            return Ok(Box::pin(self.take_over(left)).await);
        }
        let session = self.context.open_session(request);
        let message = self.context.request(request, session.as_ref());
        *self.session.lock() = session;
        let Some(answer) = self.ask(&message, stop).await else {
            return Ok(NextJob::Closed);
        };
        self.context.answered(&answer);
        match answer {
            JobAnswer::Job(job) => return Ok(Box::pin(self.accept(*job)).await),
            JobAnswer::None { last_update } => {
                let is_first = message.last_update.is_empty() && !last_update.is_empty();
                self.poll_ended(if is_first {
                    Polled::NoneYet
                } else {
                    Polled::None
                });
            }
            JobAnswer::Forbidden => self.poll_ended(Polled::Forbidden),
            JobAnswer::Unavailable { retry_after, .. } => {
                self.poll_ended(Polled::Failed(retry_after));
            }
            JobAnswer::Unreadable { id, token, reason } => {
                self.poll_ended(Polled::Job);
                tracing::error!(job = id, "{reason}");
                Box::pin(self.context.report_unreadable(id, &token, &reason)).await;
            }
        }
        Ok(NextJob::None)
    }

    async fn finished(&self, job: JobId, outcome: JobOutcome) {
        let Some(mut running) = self.job.lock().take() else {
            return;
        };
        running.session = None;
        let (metrics, took) = (&self.context.metrics, running.listed.elapsed());
        metrics.job_finished(&outcome, &running.clock, took);
        let end = end_of(&outcome);
        let reason = end.reason.map(FailureReason::as_str);
        let exit_code = Some(end.exit_code).filter(|code| *code != 0 || reason.is_none());
        tracing::info!(%job, runner = %self.context.settings.config.name, state = %outcome.state, reason, exit_code, seconds = took.as_secs(), "Job finished.");
        if let Some(error) = &outcome.error {
            explain(&running, &error.chain());
        }
        let files = &running.kept.files;
        if let Err(error) = files.write_end(&end) {
            tracing::error!(%job, error = &error as &dyn Error, "The end of a job is not on disk.");
        }
        files.forget_job();
        let directory = files.directory();
        self.context.process.notes.lock().remove(directory);
        running.end.send_replace(Some(end));
    }
}

#[async_trait]
impl JobRunner for Turn {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        let mut options = BuildRunnerOptions::default();
        if let Some(running) = self.job.lock().as_ref() {
            let kept = &running.kept;
            let directory = kept.files.directory();
            options = BuildRunnerOptions {
                notes: Some(kept.notes.clone()),
                resumed: kept.resumed.iter().cloned().collect(),
                starts_over: false,
                ..self.context.build_options(&assignment.job, directory)
            };
            if let Some(session) = &running.session {
                let (reachable_jobs, visitor) = session.begin(running.id);
                options.reachable_jobs = reachable_jobs;
                options.visitor = Some(visitor);
            }
        }
        let runner = BuildRunner::new(options, self.context.process.supervisor.clone());
        runner.run(assignment, context).await
    }
}

/// Returns the end of a job for the server.
fn end_of(outcome: &JobOutcome) -> JobEnd {
    let Some(error) = &outcome.error else {
        return JobEnd {
            state: UpdateState::Success,
            reason: None,
            exit_code: 0,
            ended_at: Timestamp::now(),
        };
    };
    JobEnd {
        exit_code: error.exit_code().map_or(0, |code| code.0),
        ..JobEnd::failed(error.failure_reason())
    }
}

/// Writes the error of a job that has no log: it did not come as far.
fn explain(job: &RunningJob, error: &str) {
    let path = job.kept.files.log(job.id.0);
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    if let Ok(mut file) = opened {
        // The state alone has to do if the disk is full.
        let _ = writeln!(file, "ERROR: Job failed (system failure): {error}");
    }
}

impl EntryContext {
    /// Returns whether the shells of a job print their commands.
    fn has_debug_trace(&self, job: &Job) -> bool {
        let config = &self.settings.config;
        let mut last = config.environment.iter().chain(&job.variables).rev();
        let value = last.find(|it| it.key == "CI_DEBUG_TRACE");
        let is_on = value
            .is_some_and(|it| matches!(&*it.value, "1" | "t" | "T" | "true" | "True" | "TRUE"));
        is_on && !config.debug_trace_disabled
    }

    /// Fails a job that cannot be read.
    async fn report_unreadable(&self, id: u64, token: &str, reason: &str) {
        let job = Job {
            id: JobId(id),
            token: SecretString::new(token),
            ..Job::default()
        };
        let record = self.record(&job);
        let line = format!("ERROR: Job failed (system failure): {reason}\n");
        let server = &self.server;
        let _ = server
            .append_trace(id, &record.token, 0, line.into(), false)
            .await;
        let end = JobEnd::failed(FailureReason::RunnerSystemFailure);
        self.report(&record, &end).await;
    }

    fn record(&self, job: &Job) -> JobRecord {
        JobRecord {
            server: self.settings.url.to_string(),
            runner: self.settings.config.name.clone(),
            job: job.id.0,
            token: job.token.clone(),
            info: self.info(),
            failure_reasons: job.features.failure_reasons.clone(),
            accepted_at: Timestamp::now(),
            debug_trace: self.has_debug_trace(job),
        }
    }
}
