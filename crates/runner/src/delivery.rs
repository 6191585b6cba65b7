//! Sends one job's log and state until the server has both.

use crate::api::{JobStatus, Server, UpdateAnswer};
use crate::log_reader::LogReader;
use crate::metrics::RunnerMetrics;
use crate::outbox::{JobEnd, JobFiles, JobRecord};
use crate::reasons::name_for_server;
use crate::spans::JobSpans;
use executor_core::{CancelCause, Cancellation};
use gitlab_api::runner::{JobUpdate, UpdateState};
use job_runner::JobNotes;
use std::error::Error;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// The time between two pieces of a log, if the server names none; and the one before the first piece.
const INTERVAL: Duration = Duration::from_secs(3);

/// The longest time between two looks at the state of a silent job.
const LONGEST_CHECK: Duration = Duration::from_secs(30);

/// The longest pause after calls that failed.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How often a delivery calls its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryTimes {
    /// The shortest time between two looks at the state of a silent job. Default: 1 s.
    ///
    /// A cancellation of a silent job takes effect that late at most, if the server answers within 50 ms.
    pub cancel_check: Duration,
    /// How long the end of a job is offered to a server that is away. Default: three days.
    pub expiry: Duration,
}

impl Default for DeliveryTimes {
    fn default() -> Self {
        Self {
            cancel_check: Duration::from_secs(1),
            expiry: Duration::from_hours(72),
        }
    }
}

/// The delivery of one job.
#[derive(Debug)]
pub(crate) struct Delivery {
    server: Server,
    files: JobFiles,
    record: JobRecord,
    /// Stops the job.
    job: Cancellation,
    ended: watch::Receiver<Option<JobEnd>>,
    /// Of a job that runs.
    notes: Option<JobNotes>,
    spans: Option<JobSpans>,
    times: DeliveryTimes,
    log: LogReader,
    interval: Duration,
    next_piece: Instant,
    next_check: Instant,
    /// The number of calls in a row that failed.
    failures: u32,
}

/// The result of sending what the log has.
enum Sent {
    /// All of it arrived.
    All,
    /// The server wants no more of it.
    Refused,
    /// A call failed; the next one may come after this pause.
    Failed(Duration),
}

impl Delivery {
    pub(crate) fn new(
        server: Server,
        files: JobFiles,
        record: JobRecord,
        job: Cancellation,
        ended: watch::Receiver<Option<JobEnd>>,
        notes: Option<JobNotes>,
        times: DeliveryTimes,
    ) -> Self {
        let now = Instant::now();
        Self {
            log: LogReader::new(files.log(record.job)),
            server,
            files,
            record,
            job,
            ended,
            notes,
            spans: None,
            times,
            interval: INTERVAL,
            next_piece: now + INTERVAL,
            next_check: now + times.cancel_check,
            failures: 0,
        }
    }

    /// Sends these spans, too, when the job has ended.
    pub(crate) fn with_spans(self, spans: Option<JobSpans>) -> Self {
        Self { spans, ..self }
    }

    /// Delivers the job, and removes its files when the server has them or wants none.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any time: the files remain for the next process.
    pub(crate) async fn run(mut self) {
        if let Some(end) = self.follow().await {
            let (server, job) = (self.server.clone(), self.record.job);
            let spans = self.spans.take();
            let sending = async {
                if let Some(spans) = spans {
                    spans.send(&server, job, &end).await;
                }
            };
            tokio::join!(self.finish(&end), sending);
        }
    }

    /// Sends pieces of the log, and asks for the state of the job, until the job has ended. `None` means that its owner does not
    /// say how: the next process reports it.
    async fn follow(&mut self) -> Option<JobEnd> {
        let mut ended = self.ended.clone();
        loop {
            tokio::select! {
                end = ended.wait_for(Option::is_some) => return end.ok().and_then(|end| end.clone()),
                () = sleep_until(self.next_piece.min(self.next_check)) => {}
            }
            if Instant::now() >= self.next_piece {
                let pause = match self.send_log().await {
                    Sent::All | Sent::Refused => self.interval,
                    Sent::Failed(pause) => pause,
                };
                self.next_piece = Instant::now() + pause;
            }
            if Instant::now() >= self.next_check {
                self.check().await;
            }
        }
    }

    /// Reports that the job runs, to learn what the server wants.
    async fn check(&mut self) {
        let update = self.update(UpdateState::Running);
        let asked = Instant::now();
        let answer = self.server.update_job(self.record.job, &update).await;
        match answer {
            Ok(answer) if answer.is_success() => self.heed(&answer, asked),
            Ok(answer) if matches!(answer.status, 403 | 404) => {
                self.job.abort(CancelCause::Source);
                self.next_check = asked + LONGEST_PAUSE;
            }
            answer => {
                let pause = self.pause_after(answer.as_ref().ok());
                self.next_check = Instant::now() + pause;
            }
        }
    }

    /// Sends all of the log that there is, and that stays as it is.
    async fn send_log(&mut self) -> Sent {
        let mut may_seek = true;
        loop {
            let piece = match self.log.next(self.notes.clone()).await {
                Ok(piece) if piece.is_empty() => return Sent::All,
                Ok(piece) => piece,
                Err(error) => {
                    let job = self.record.job;
                    tracing::error!(%job, error = &error as &dyn Error, "The rest of a log cannot be read.");
                    return Sent::Refused;
                }
            };
            let JobRecord {
                job,
                token,
                debug_trace,
                ..
            } = &self.record;
            let (offset, asked) = (self.log.sent(), Instant::now());
            let sending =
                self.server
                    .append_trace(*job, token, offset, piece.clone(), *debug_trace);
            let answer = match sending.await {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::warn!(%job, error = &error as &dyn Error, "A piece of a log was not sent.");
                    return Sent::Failed(self.pause_after(None));
                }
            };
            match (answer.status, answer.stored) {
                (200..=299, _) => {
                    self.log.advance(&piece);
                    self.heed(&answer, asked);
                }
                // Another piece arrived, although its answer did not.
                (416, Some(stored)) if may_seek => {
                    may_seek = false;
                    if let Err(error) = self.log.seek(stored).await {
                        tracing::error!(%job, error = &error as &dyn Error, "A log cannot be read.");
                        return Sent::Refused;
                    }
                }
                (403, _) => {
                    self.job.abort(CancelCause::Source);
                    return Sent::Refused;
                }
                // Not an abort, as at GitLab: it may be about the log alone.
                (404, _) => return Sent::Refused,
                _ => return Sent::Failed(self.pause_after(Some(&answer))),
            }
        }
    }

    /// Sends the rest of the log, and the end, until the server has both.
    async fn finish(&mut self, end: &JobEnd) {
        self.notes = None;
        let metrics = self.server.metrics();
        let _undelivered = metrics.map(RunnerMetrics::undelivered);
        let job = self.record.job;
        loop {
            let sent = self.send_log().await;
            let pause = match sent {
                Sent::Failed(pause) => pause,
                Sent::All | Sent::Refused => {
                    // Also of what the server did not take.
                    let _ = self.log.seek(u64::MAX).await;
                    let update = self.final_update(end);
                    match self.server.update_job(job, &update).await {
                        Ok(answer) => match self.pause_before_next_final(&answer).await {
                            Some(pause) => pause,
                            None => break,
                        },
                        Err(error) => {
                            tracing::warn!(%job, error = &error as &dyn Error, "The end of a job was not sent.");
                            self.pause_after(None)
                        }
                    }
                }
            };
            let age = jiff::Timestamp::now().duration_since(end.ended_at);
            let is_old = Duration::try_from(age).unwrap_or_default() > self.times.expiry;
            if is_old && self.failures > 0 {
                tracing::error!(%job, "The end of a job was not sent in time, and is dropped.");
                break;
            }
            sleep(pause).await;
        }
        if let Err(error) = self.files.remove() {
            tracing::warn!(%job, error = &error as &dyn Error, "Files of a job remain.");
        }
    }

    /// Returns the pause before the end is sent again; `None` if the matter is settled.
    async fn pause_before_next_final(&mut self, answer: &UpdateAnswer) -> Option<Duration> {
        let job = self.record.job;
        match answer.status {
            // Not yet processed.
            202 => {
                self.failures = 0;
                Some(answer.interval.unwrap_or(INTERVAL))
            }
            200..=299 => None,
            403 | 404 => {
                tracing::warn!(%job, status = answer.status, "The server does not want the end of a job.");
                None
            }
            // The server's copy of the log is not the log.
            412 => {
                self.failures += 1;
                // The start of a log can be read whatever its state.
                let _ = self.log.seek(0).await;
                Some(if self.failures == 1 {
                    answer.interval.unwrap_or(INTERVAL)
                } else {
                    backoff(self.failures)
                })
            }
            status => {
                tracing::warn!(%job, status, "The server did not take the end of a job.");
                Some(self.pause_after(Some(answer)))
            }
        }
    }

    /// Does what the server wants of the job.
    fn heed(&mut self, answer: &UpdateAnswer, asked: Instant) {
        self.failures = 0;
        if let Some(interval) = answer.interval {
            self.interval = interval;
        }
        let effort = asked.elapsed() * 20;
        let pause = effort.clamp(
            self.times.cancel_check,
            LONGEST_CHECK.max(self.times.cancel_check),
        );
        self.next_check = Instant::now() + pause;
        match answer.job_status {
            JobStatus::Canceling if !self.job.is_canceled() => {
                tracing::info!(job = self.record.job, "The server cancels the job.");
                self.job.cancel(CancelCause::Source);
            }
            JobStatus::Running | JobStatus::Canceling => {}
            JobStatus::Ended => self.job.abort(CancelCause::Source),
        }
    }

    fn pause_after(&mut self, answer: Option<&UpdateAnswer>) -> Duration {
        self.failures += 1;
        let wanted = answer.and_then(|it| it.retry_after);
        wanted.unwrap_or_else(|| backoff(self.failures))
    }

    fn update(&self, state: UpdateState) -> JobUpdate {
        let output = self.log.digest();
        JobUpdate {
            info: self.record.info.clone(),
            token: self.record.token.clone(),
            state,
            checksum: output.checksum.clone(),
            output,
            ..JobUpdate::default()
        }
    }

    fn final_update(&self, end: &JobEnd) -> JobUpdate {
        let reason = end.reason;
        let known = &self.record.failure_reasons;
        JobUpdate {
            failure_reason: reason
                .map(|it| name_for_server(it, known).to_owned())
                .unwrap_or_default(),
            exit_code: end.exit_code,
            ..self.update(end.state)
        }
    }
}

/// Returns the pause after this many failures in a row.
pub(crate) fn backoff(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(6);
    Duration::from_secs(1 << doublings).min(LONGEST_PAUSE)
}
