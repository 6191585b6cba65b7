//! One run of a project's pipeline on this machine.

use super::builder::RunBuilder;
use super::executor::RunExecutor;
use super::reserved_run::ReservedRun;
use super::running::RunningPipeline;
use crate::error::LocalError;
use crate::history::durations::{Expectations, JobPlace, Stopwatch};
use crate::history::run_logs::RunLogs;
use crate::project::local_pipeline::LocalPipeline;
use crate::run::isolation::Isolation;
use executor_core::{Cancellation, ExecutorProvider};
use pipeline::Plan;
use scheduler::{EventSink, PipelineReport};
use std::convert::Infallible;
use std::future::pending;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

/// A run that is ready: its plan, what it reserved, and an executor for its jobs.
///
/// A run is described by a [`RunBuilder`], then a [`ReservedRun`], then ready.
#[derive(Debug)]
pub struct LocalRun {
    pub(super) reserved: ReservedRun,
    pub(super) executor: String,
    pub(super) provider: Arc<dyn ExecutorProvider>,
}

impl LocalRun {
    /// Describes a run of this pipeline.
    pub fn builder(pipeline: &LocalPipeline) -> RunBuilder<'_> {
        RunBuilder::new(pipeline)
    }

    pub(super) fn new(reserved: ReservedRun, executor: RunExecutor) -> Self {
        let (executor, provider) = executor.start(reserved.supervisor());
        Self {
            reserved,
            executor,
            provider,
        }
    }

    /// Returns the jobs that will run.
    pub fn plan(&self) -> &Arc<Plan> {
        self.reserved.plan()
    }

    /// Returns what runs the jobs.
    pub fn provider(&self) -> &Arc<dyn ExecutorProvider> {
        &self.provider
    }

    /// Returns what the user should know about earlier runs, a line each.
    pub fn notes(&self) -> &[String] {
        self.reserved.notes()
    }

    /// Returns where the logs of the jobs will be, also of pipelines that jobs start.
    pub fn logs(&self) -> RunLogs {
        self.reserved.logs()
    }

    /// Returns the directory with the logs of this run.
    pub fn directory(&self) -> &Path {
        self.reserved.directory()
    }

    /// Returns how long the run should take, by earlier runs with this executor.
    pub fn expectations(&self) -> Expectations {
        let durations = self.reserved.state.durations();
        Expectations::read(&durations, &self.place(), self.concurrency())
    }

    /// Runs the pipeline, and at the end shuts the provider down.
    ///
    /// # Errors
    ///
    /// When the run could not start. A failed job is in the report.
    ///
    /// # Cancellation
    ///
    /// `cancel` ends the running jobs gracefully, `abort` at once; both wait until they have ended.
    pub async fn execute(
        self,
        events: Arc<dyn EventSink>,
        cancellation: &Cancellation,
    ) -> Result<PipelineReport, LocalError> {
        let stopwatch = Arc::new(Stopwatch::new(self.plan().id(), events));
        let place = self.place();
        // Git lists the files while the run starts. A run that ends first needs them no more.
        let listing = async {
            self.reserved.list_ahead().await;
            pending::<Infallible>().await
        };
        // Boxed, because it is large.
        let running = Box::pin(async {
            let running = RunningPipeline::start(&self, Arc::clone(&stopwatch) as _)?;
            Ok(running.run(cancellation).await)
        });
        let report = tokio::select! {
            biased;
            never = listing => match never {},
            report = running => report,
        };
        self.reserved.close(stopwatch, place).await;
        report
    }

    fn place(&self) -> JobPlace {
        JobPlace {
            executor: self.executor.clone(),
            in_place: self.reserved.shared.options.isolation == Isolation::None,
            file: JobPlace::file_of(self.reserved.read.project()),
        }
    }

    /// Returns how many jobs run at once.
    pub(super) fn concurrency(&self) -> NonZeroU32 {
        let processors = || std::thread::available_parallelism().ok()?.try_into().ok();
        let concurrency = self.reserved.shared.options.concurrency;
        concurrency.or_else(processors).unwrap_or(NonZeroU32::MIN)
    }
}
