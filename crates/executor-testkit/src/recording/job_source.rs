use crate::event::Event;
use crate::recording::RecordingObserver;
use crate::timeline::Timeline;
use executor_core::{
    Cancellation, Job, JobAssignment, JobId, JobOutcome, JobRequest, JobSource, JobSourceError,
    NextJob,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The reply of a [`RecordingJobSource`] to one request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SourceReply {
    /// A job.
    Job(Box<Job>),
    /// No job now.
    None,
    /// An error with this message.
    Error(String),
    /// A panic with this message, as from a bug in a source.
    Panic(String),
    /// No reply until the request is cancelled.
    Wait,
}

/// A source that sends a test's replies and records requests and outcomes.
///
/// After the last reply it is closed.
///
/// # Examples
///
/// ```
/// use executor_testkit::{JobBuilder, RecordingJobSource, ScriptedJobRunner, ScriptedProvider, Timeline};
/// use executor_core::{ActiveJobs, Cancellation, JobSlots, ErrorPolicy, RunnerConfig, Worker};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), executor_core::WorkerError> {
/// let timeline = Timeline::new();
/// let provider = ScriptedProvider::with_timeline(&timeline);
/// let source = Arc::new(RecordingJobSource::with_timeline(&timeline));
/// source.hand_out(JobBuilder::new(7).script(["make"]).build());
///
/// let worker = Worker {
///     config: Arc::new(RunnerConfig::new("runner", "scripted")),
///     provider: provider.shared(),
///     source: source.clone(),
///     runner: Arc::new(ScriptedJobRunner::new()),
///     active: ActiveJobs::new(),
///     slots: JobSlots::default(),
///     pause: Worker::DEFAULT_PAUSE,
///     on_error: ErrorPolicy::Fail,
/// };
/// worker.run(&Cancellation::new()).await?;
///
/// assert_eq!(source.requests()[0].executor, "scripted");
/// assert_eq!(
///     timeline.lines_of(&["provider.acquire", "provider.release", "source."]),
///     [
///         "provider.acquire", "source.next", "source.finished(7, success)", "provider.release",
///         "provider.acquire", "source.next", "provider.release",
///     ],
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct RecordingJobSource {
    timeline: Timeline,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<SourceReply>,
    requests: Vec<JobRequest>,
    outcomes: Vec<(JobId, JobOutcome)>,
    attempts: BTreeMap<JobId, u32>,
    cancellations: BTreeMap<JobId, Cancellation>,
    observers: BTreeMap<JobId, RecordingObserver>,
}

impl RecordingJobSource {
    /// Returns a source without jobs, with a new timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a source without jobs that records its calls in `timeline`.
    pub fn with_timeline(timeline: &Timeline) -> Self {
        Self {
            timeline: timeline.clone(),
            ..Self::default()
        }
    }

    /// Adds a job after all earlier replies; the same job again is its next attempt.
    pub fn hand_out(&self, job: Job) {
        self.reply(SourceReply::Job(Box::new(job)));
    }

    /// Adds a reply after all earlier replies.
    pub fn reply(&self, reply: SourceReply) {
        self.state.lock().replies.push_back(reply);
    }

    /// Returns the timeline of its calls.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the requests, in order: features, configuration, shell, tags.
    pub fn requests(&self) -> Vec<JobRequest> {
        self.state.lock().requests.clone()
    }

    /// Returns the outcomes of jobs, in order.
    pub fn outcomes(&self) -> Vec<(JobId, JobOutcome)> {
        self.state.lock().outcomes.clone()
    }

    /// Returns the cancellation of the latest attempt of a job; `None` before the first attempt.
    pub fn cancellation(&self, job: JobId) -> Option<Cancellation> {
        self.state.lock().cancellations.get(&job).cloned()
    }

    /// Returns the observer of a job, created with its first attempt or by the first call.
    pub fn observer(&self, job: JobId) -> RecordingObserver {
        let mut state = self.state.lock();
        let observer = state
            .observers
            .entry(job)
            .or_insert_with(|| RecordingObserver::with_timeline(&self.timeline));
        observer.clone()
    }

    fn assign(&self, job: Job) -> NextJob {
        let cancellation = Cancellation::new();
        let observer = self.observer(job.id);
        let mut state = self.state.lock();
        let attempt = state.attempts.entry(job.id).or_insert(0);
        *attempt += 1;
        let attempt = *attempt;
        state.cancellations.insert(job.id, cancellation.clone());
        NextJob::Job(Box::new(JobAssignment {
            job: Arc::new(job),
            attempt,
            observer: Arc::new(observer),
            cancellation,
        }))
    }
}

#[async_trait::async_trait]
impl JobSource for RecordingJobSource {
    async fn next(
        &self,
        request: &JobRequest,
        cancellation: &Cancellation,
    ) -> Result<NextJob, JobSourceError> {
        let reply = {
            let mut state = self.state.lock();
            state.requests.push(request.clone());
            state.replies.pop_front()
        };
        self.timeline.record(Event::Next);
        match reply {
            Some(SourceReply::Job(job)) => Ok(self.assign(*job)),
            Some(SourceReply::None) => Ok(NextJob::None),
            Some(SourceReply::Error(message)) => Err(JobSourceError {
                message,
                source: None,
            }),
            Some(SourceReply::Panic(message)) => panic!("{message}"),
            Some(SourceReply::Wait) => {
                cancellation.canceled().await;
                Ok(NextJob::Closed)
            }
            None => Ok(NextJob::Closed),
        }
    }

    async fn finished(&self, job: JobId, outcome: JobOutcome) {
        let state = outcome.state;
        self.state.lock().outcomes.push((job, outcome));
        self.timeline.record(Event::Finished { job, state });
    }
}
