use super::control::Control;
use super::downstream::{Created, LocalDownstream, Upper};
use super::refusal::Refusal;
use crate::history::{JobHistory, Journal, RunRecord, forget_told, products};
use crate::project::local_project::LocalProject;
use crate::run::caches;
use crate::run::{RunnerParts, runner_of};
use executor_core::FailureReason;
use pipeline::{Plan, Selection};
use scheduler::EventSink;
use scheduler::event::ParentJob;
use scheduler::{Bridge, Controls, DownstreamPipeline};
use std::sync::Arc;

impl Upper {
    /// Writes down that the pipeline begins, and returns it with who runs its jobs.
    pub(super) fn begin(
        &self,
        bridge: &Bridge,
        created: Created,
    ) -> Result<DownstreamPipeline, Refusal> {
        let Created {
            plan,
            project,
            read,
            state,
            sources,
            directory,
            earlier,
            other,
            above,
            ancestry,
        } = created;
        let options = &self.pipeline_tree.options;
        let caches = caches::of_plan(&plan, &read.outside, &options.state, project.root());
        let caches = caches.map_err(|error| {
            let chain = executor_core::chain(&error);
            Refusal::new(FailureReason::RunnerSystemFailure, chain)
        })?;
        let parent = ParentJob {
            pipeline: bridge.plan.id(),
            job: bridge.plan.jobs()[bridge.index].name().into(),
            project: other,
        };
        // One that goes on has its record.
        let recorded = if earlier.is_some() {
            forget_told(&directory.path);
            Ok(())
        } else {
            self.record(&parent, &plan, &project).write(&directory.path)
        };
        let kind = earlier.as_ref().map(|earlier| &earlier.kind);
        let life = earlier
            .as_ref()
            .map_or(1, |it| it.next_life(&directory.path));
        let written = recorded.and_then(|()| {
            let next = Arc::clone(&options.events);
            Journal::begin(&directory.path, &plan, kind, next)
        });
        let journal = written.map_err(|error| {
            let chain = executor_core::chain(&error);
            Refusal::new(FailureReason::RunnerSystemFailure, chain)
        })?;
        let runner = runner_of(&RunnerParts {
            is_session: false,
            sources: &sources,
            directory: &directory.path,
            life,
            supervisor: &options.supervisor,
            state: &state,
            above: &above,
            caches,
            reuse: options
                .reuse
                .clone()
                .filter(|reuse| reuse.is_of(project.root())),
            visitor: options.visitor.clone(),
            terminals: &options.terminals,
            watch_changes: options.watch_changes.clone(),
            notes: None,
            left: Vec::new(),
        });
        let kept = state.kept_files().of_run(&directory.path);
        let left = |job: &JobHistory| products(&plan, &kept, job);
        let progress = earlier.map(|earlier| earlier.progress(left));
        let plan = Arc::new(plan);
        options.logs.add(directory.path.clone(), life, &plan);
        let controls = Controls::default();
        options.controls.add(&plan, &controls);
        let control = Control::listen(&directory.path, &plan, &controls, &options.notices);
        let below = Self {
            pipeline_tree: Arc::clone(&self.pipeline_tree),
            project,
            read,
            state,
            sources,
            path: directory.path.clone(),
            above,
            _control: control,
            _directory: Some(directory),
            ancestry,
        };
        Ok(DownstreamPipeline {
            plan,
            parent,
            runner: Some(runner),
            sink: Some(Arc::new(journal) as Arc<dyn EventSink>),
            downstream: Some(Arc::new(LocalDownstream(Arc::new(below)))),
            controls,
            progress: Arc::new(progress.unwrap_or_default()),
        })
    }

    /// Returns what is written down of a pipeline that a job starts.
    fn record(&self, parent: &ParentJob, plan: &Plan, project: &LocalProject) -> RunRecord {
        let options = &self.pipeline_tree.options;
        let mut record = RunRecord::new(
            plan,
            project.root(),
            project.file(),
            &Selection::default(),
            &options.executor,
            &options.command,
        );
        record.parent = Some(parent.clone());
        let is_elsewhere = parent.project.is_some();
        record.above = is_elsewhere.then(|| self.project.root().to_owned());
        record
    }
}
