//! A scripted job runner, and a sink that records events.

use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, BuildStage, CancelCause, Cancellation, ConfigInfo,
    DefaultExecutorProvider, Executor, ExecutorData, ExecutorProvider, ExitCode, FeaturesInfo,
    JobAssignment, JobOutcome, JobRunner, JobSlot, JobVariables, ProviderError, RunContext,
    RunnerConfig, ShellDialect, StageReport, TraceStream,
};
use parking_lot::Mutex;
use pipeline::context::PipelineContext;
use pipeline::repository::NoRepository;
use pipeline::{Plan, PlanError, ResolvedPipeline, Selection, create};
use scheduler::Driver;
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What the runner does in one attempt of a job.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Succeed,
    Fail(i32),
    /// Exceeds its time limit.
    TimeUp,
    SystemFailure,
    Panic,
    Take(Duration),
    /// Takes this long, unless it is stopped.
    TakeOrStop(Duration),
    /// Runs until it is stopped.
    Hang,
    Write(Vec<(TraceStream, Vec<u8>)>),
    /// Writes, pauses, and continues to write.
    Pause(&'static str, &'static str),
    /// Does so, and writes to standard error during the pause.
    Interrupted(&'static str, &'static str, &'static str),
    /// Runs a stage for each entry, which writes to one stream.
    Stages(Vec<(TraceStream, &'static str)>),
}

/// An attempt of a job that ran.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) name: String,
    pub(crate) attempt: u32,
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    pub(crate) slot: JobSlot,
}

#[derive(Debug, Default)]
pub(crate) struct FakeRunner {
    acts: HashMap<String, Vec<Act>>,
    pub(crate) ran: Mutex<Vec<Ran>>,
    pub(crate) begun: tokio::sync::Notify,
    variables: Mutex<HashMap<String, JobVariables>>,
}

impl FakeRunner {
    /// Returns a runner; the acts of a job are for its attempts in turn, the last one for all others.
    pub(crate) fn new(acts: &[(&str, &[Act])]) -> Arc<Self> {
        let acts = acts
            .iter()
            .map(|(name, acts)| ((*name).to_owned(), acts.to_vec()));
        Arc::new(Self {
            acts: acts.collect(),
            ..Self::default()
        })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let ran = self.ran.lock();
        ran.iter().map(|ran| ran.name.clone()).collect()
    }

    /// Returns the value of a variable that a job got.
    pub(crate) fn variable(&self, job: &str, name: &str) -> Option<String> {
        let variables = self.variables.lock();
        variables[job].get(name).map(ToOwned::to_owned)
    }

    pub(crate) fn ran(&self, name: &str) -> Ran {
        let ran = self.ran.lock();
        ran.iter().find(|ran| ran.name == name).unwrap().clone()
    }
}

#[async_trait]
impl JobRunner for FakeRunner {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        let name = assignment.job.job_info.name.clone();
        let begun = Instant::now();
        let acts = self.acts.get(&name).map_or(&[][..], Vec::as_slice);
        let at = usize::try_from(assignment.attempt).unwrap() - 1;
        let act = acts
            .get(at)
            .or(acts.last())
            .unwrap_or(&Act::Succeed)
            .clone();
        let variables = assignment.job.variables.iter().cloned().collect();
        self.variables.lock().insert(name.clone(), variables);
        assignment.observer.started();
        self.begun.notify_one();
        let observer = &assignment.observer;
        let outcome = match act {
            Act::Succeed => JobOutcome::success(),
            Act::Fail(code) => JobOutcome::from_error(BuildError::Script {
                exit_code: ExitCode(code),
            }),
            Act::TimeUp => JobOutcome::from_error(BuildError::Timeout {
                phase: "execution",
                limit: Duration::from_mins(1),
            }),
            Act::SystemFailure => {
                JobOutcome::from_error(BuildError::system("fake", "the disk is full", "ENOSPC"))
            }
            Act::Panic => panic!("a bug in the job runner"),
            Act::Take(time) => {
                tokio::time::sleep(time).await;
                JobOutcome::success()
            }
            Act::TakeOrStop(time) => tokio::select! {
                () = tokio::time::sleep(time) => JobOutcome::success(),
                _ = assignment.cancellation.canceled() => {
                    JobOutcome::from_error(BuildError::Canceled(CancelCause::SiblingFailure))
                }
            },
            Act::Hang => {
                let cause = assignment.cancellation.canceled().await;
                JobOutcome::from_error(BuildError::Canceled(cause))
            }
            Act::Write(pieces) => {
                for (stream, bytes) in pieces {
                    observer.output(stream, &bytes);
                }
                JobOutcome::success()
            }
            Act::Pause(before, after) => {
                observer.output(TraceStream::STDOUT, before.as_bytes());
                observer.idle(TraceStream::STDOUT);
                observer.output(TraceStream::STDOUT, after.as_bytes());
                JobOutcome::success()
            }
            Act::Interrupted(before, meanwhile, after) => {
                observer.output(TraceStream::STDOUT, before.as_bytes());
                observer.idle(TraceStream::STDOUT);
                observer.output(TraceStream::STDERR, meanwhile.as_bytes());
                observer.output(TraceStream::STDOUT, after.as_bytes());
                JobOutcome::success()
            }
            Act::Stages(pieces) => {
                for (stream, text) in pieces {
                    observer.stage_started(&BuildStage::script());
                    observer.output(stream, text.as_bytes());
                    observer.stage_finished(&StageReport {
                        stage: BuildStage::script(),
                        succeeded: true,
                        duration: Duration::ZERO,
                        result: None,
                    });
                }
                JobOutcome::success()
            }
        };
        self.ran.lock().push(Ran {
            name,
            attempt: assignment.attempt,
            begun,
            ended: Instant::now(),
            slot: context.slot,
        });
        outcome
    }
}

/// Records events and checks their numbers.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Vec<PipelineEvent>>);

impl EventSink for Recorder {
    fn event(&self, event: &PipelineEvent) {
        let mut events = self.0.lock();
        let of_pipeline = events.iter().filter(|it| it.pipeline == event.pipeline);
        assert_eq!(event.seq, of_pipeline.count() as u64 + 1);
        events.push(event.clone());
    }
}

impl Recorder {
    pub(crate) fn events(&self) -> Vec<PipelineEvent> {
        self.0.lock().clone()
    }

    pub(crate) fn kinds(&self) -> Vec<EventKind> {
        let events = self.0.lock();
        events.iter().map(|event| event.kind.clone()).collect()
    }

    /// Returns the events as lines without their times.
    pub(crate) fn lines(&self) -> String {
        let events = self.0.lock();
        let line = |event: &PipelineEvent| {
            let mut event = serde_json::to_value(event).unwrap();
            event["at"].take();
            if event.get("duration_ms").is_some() {
                event["duration_ms"].take();
            }
            event.to_string() + "\n"
        };
        events.iter().map(line).collect()
    }
}

pub(crate) fn resolve(text: &str) -> ResolvedPipeline {
    match ResolvedPipeline::from_text("ci.yml", text).into_result() {
        Ok((resolved, _)) => resolved,
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

pub(crate) fn plan(text: &str) -> Arc<Plan> {
    plan_of(text, &Selection::default())
}

pub(crate) fn plan_of(text: &str, selection: &Selection) -> Arc<Plan> {
    Arc::new(try_plan(&resolve(text), PipelineContext::default(), selection).unwrap())
}

/// Plans a pipeline without a repository.
pub(crate) fn try_plan(
    resolved: &ResolvedPipeline,
    context: PipelineContext,
    selection: &Selection,
) -> Result<Plan, PlanError> {
    let creation = create(resolved, &context, &NoRepository);
    Plan::new(&creation, context, selection)
}

pub(crate) fn driver(runner: &Arc<FakeRunner>, sink: &Arc<Recorder>) -> Driver {
    driver_of(
        Arc::clone(runner) as Arc<dyn JobRunner>,
        Arc::clone(sink) as Arc<dyn EventSink>,
    )
}

pub(crate) fn driver_of(runner: Arc<dyn JobRunner>, sink: Arc<dyn EventSink>) -> Driver {
    let provider = Arc::new(DefaultExecutorProvider::new(
        ShellDialect::platform_default(),
    ));
    let config = Arc::new(RunnerConfig::new("fake", "fake"));
    let mut driver = Driver::new(provider, runner, config, sink);
    driver.concurrency = NonZeroU32::new(4).unwrap();
    driver
}

/// A provider with capacity whose other calls fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BrokenProvider {
    /// Its description fails.
    Undescribed,
    /// Its description panics.
    PanicsInFeatures,
    /// It panics when its capacity is released.
    PanicsInRelease,
}

#[async_trait]
impl ExecutorProvider for BrokenProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    fn create(&self, _data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        Err(BuildError::config("this provider creates nothing"))
    }

    async fn acquire(
        &self,
        _config: &RunnerConfig,
        _cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        Ok(ExecutorData::default())
    }

    async fn release(&self, _config: &RunnerConfig, _data: ExecutorData) {
        assert_ne!(*self, Self::PanicsInRelease, "a bug in release");
    }

    fn features(&self, _features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        match self {
            Self::Undescribed => Err(ProviderError::new("no description")),
            Self::PanicsInFeatures => panic!("a bug in features"),
            Self::PanicsInRelease => Ok(()),
        }
    }

    fn config_info(&self, _config: &RunnerConfig, _info: &mut ConfigInfo) {}

    fn default_shell(&self) -> Option<ShellDialect> {
        Some(ShellDialect::platform_default())
    }

    fn init(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn shutdown(&self, _deadline: Duration) -> Result<(), ProviderError> {
        Ok(())
    }
}
