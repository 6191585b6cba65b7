//! The parts of a run, put together.

use super::local_run::LocalRun;
use super::runner::{RunnerParts, runner_of};
use super::taking_over::TakingOver;
use crate::history::{JobHistory, products};
use crate::run::children::{HouseholdOptions, LocalDownstream, PipelineTree};
use executor_core::{ExecutorProvider, RunnerConfig};
use process::TempDir;
use scheduler::ResourceGroups;
use scheduler::{Driver, EventSink};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// How long a job that was told to stop may take: somebody sits there and waits.
const GRACE: Duration = Duration::from_secs(10);

impl LocalRun {
    /// Returns what runs the jobs, with all that they may use.
    pub(super) fn driver(
        &self,
        executor: &str,
        provider: Arc<dyn ExecutorProvider>,
        events: Arc<dyn EventSink>,
        builds: &TempDir,
    ) -> Driver {
        let directory = &self.directory.path;
        let above = self.found.as_ref().map(|found| found.stores.as_slice());
        let runner = runner_of(&RunnerParts {
            is_session: self.found.is_some(),
            sources: &self.sources,
            directory,
            life: self.life,
            supervisor: &self.supervisor,
            state: &self.state,
            above: above.unwrap_or_default(),
            caches: self.caches.clone(),
            reuse: self.reuse.clone(),
            visitor: self.options.visitor.clone(),
            terminals: &self.options.terminals,
            watch_changes: self.options.watch_changes.clone(),
            notes: Some(self.notes_of_jobs.clone()),
            left: self.left_jobs.clone(),
        });
        let runner = TakingOver::over(
            runner,
            &self.plan,
            directory,
            &self.options.done,
            self.options.selection.among.as_ref(),
            &self.state.runs(),
            self.state.kept_files(),
        );
        let mut config = RunnerConfig::new("local", executor);
        // What runs on this host has its builds there, and what does not may show them to its jobs.
        config.host_builds_dir = Some(builds.path().display().to_string());
        let reads = self.sources.host_reads().into_iter();
        // What is no text cannot be shown by name.
        config.host_reads = reads
            .filter_map(|it| it.into_os_string().into_string().ok())
            .collect();
        config.output_limit = u64::MAX;
        config.graceful_kill_timeout = GRACE;
        let mut driver = Driver::new(provider, runner, Arc::new(config), events);
        driver.active = self.options.active.clone();
        driver.controls = self.options.controls.first().clone();
        self.options.controls.add(&self.plan, &driver.controls);
        driver.concurrency = self.concurrency();
        driver.timeout = self.options.timeout;
        if let Some(found) = &self.found {
            driver.progress = Arc::new(found.progress.clone());
        }
        driver.resources = Arc::clone(&self.resources) as Arc<dyn ResourceGroups>;
        if let Some(earlier) = &self.earlier {
            let kept = self.state.kept_files().of_run(&self.directory.path);
            let left = |job: &JobHistory| products(&self.plan, &kept, job);
            driver.progress = Arc::new(earlier.progress(left));
        }
        driver
    }

    /// Returns what the pipelines share that jobs start.
    pub(super) fn pipeline_tree(
        &self,
        executor: &str,
        events: Arc<dyn EventSink>,
    ) -> Arc<PipelineTree> {
        let continues = self.earlier.as_ref();
        let options = HouseholdOptions {
            state: self.state_dir.clone(),
            supervisor: self.supervisor.clone(),
            isolation: self.options.isolation,
            executor: executor.to_owned(),
            command: self.options.command.clone(),
            continues: continues.map(|it| (it.kind.of_children(), Arc::clone(&self.family))),
            logs: self.logs.clone(),
            notices: self.options.notices.clone(),
            controls: self.options.controls.clone(),
            reuse: self.reuse.clone(),
            visitor: self.options.visitor.clone(),
            terminals: self.options.terminals.clone(),
            watch_changes: self.options.watch_changes.clone(),
            events,
        };
        Arc::new(PipelineTree::new(options, self.directory.id))
    }

    /// Returns who starts pipelines for jobs.
    pub(super) fn downstream(&self, pipeline_tree: &Arc<PipelineTree>) -> LocalDownstream {
        LocalDownstream::new(
            Arc::clone(pipeline_tree),
            self.project.clone(),
            Arc::clone(&self.read),
            self.state.clone(),
            self.sources.clone(),
            self.directory.path.clone(),
            &self.plan,
        )
    }

    /// Returns how many jobs run at once.
    pub(super) fn concurrency(&self) -> NonZeroU32 {
        let processors = || std::thread::available_parallelism().ok()?.try_into().ok();
        self.options
            .concurrency
            .or_else(processors)
            .unwrap_or(NonZeroU32::MIN)
    }
}
