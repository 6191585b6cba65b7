use super::control::Control;
use super::parent_pipeline::{CreatedPipeline, LocalDownstream, ParentPipeline};
use super::refusal::Refusal;
use crate::history::{
    ContinuedRun, JobHistory, Journal, RunRecord, RunsError, forget_reported, products,
};
use crate::project::local_project::LocalProject;
use crate::run::caches;
use crate::run::{RunnerParts, job_results, runner_of};
use pipeline::{Plan, Selection};
use scheduler::EventSink;
use scheduler::event::ParentJob;
use scheduler::{Bridge, Controls, DownstreamPipeline};
use std::sync::Arc;

impl ParentPipeline {
    /// Records that the pipeline starts, and returns it with the runner of its jobs.
    pub(super) fn start(
        &self,
        bridge: &Bridge,
        created: CreatedPipeline,
    ) -> Result<DownstreamPipeline, Refusal> {
        let CreatedPipeline {
            plan,
            read,
            state,
            sources,
            directory,
            earlier,
            other_project,
            above,
            ancestry,
        } = created;
        let tree = &self.pipeline_tree;
        let run = &tree.run;
        let caches = caches::of_plan(&plan, &read.outside, &run.state, state.root());
        let caches = caches.map_err(|error| Refusal::failure(&error))?;
        let parent = ParentJob {
            pipeline: bridge.plan.id(),
            job: bridge.plan.jobs()[bridge.index].name().into(),
            project: other_project,
        };
        // A continued pipeline has its record already.
        let recorded = if earlier.is_some() {
            forget_reported(&directory.path);
            Ok(())
        } else {
            let record = self.record(&parent, &plan, read.project());
            record.write(&directory.path)
        };
        let kind = earlier.as_ref().map(|earlier| &earlier.kind);
        let attempt = earlier
            .as_ref()
            .map_or(1, |it| it.next_attempt(&directory.path));
        let notes = job_results(&directory);
        let mut resumed = notes.read();
        resumed.retain(|note| {
            let is_resumed = |it: &ContinuedRun| it.can_resume(note, &plan);
            note.final_state().is_some() && earlier.as_ref().is_some_and(is_resumed)
        });
        let plan = Arc::new(plan);
        let journal = recorded
            .and_then(|()| {
                let forgotten = notes.retain(&resumed);
                forgotten.map_err(RunsError::io("remove", directory.path.join("running")))?;
                let (plan, events) = (Arc::clone(&plan), Arc::clone(&tree.events));
                Journal::begin(&directory.path, plan, kind, notes.clone(), events)
            })
            .map_err(|error| Refusal::failure(&error))?;
        let runner = runner_of(&RunnerParts {
            run,
            is_session: false,
            sources: &sources,
            directory: &directory.path,
            attempt,
            state: &state,
            above: &above,
            caches,
            notes: Some(notes),
            resumed,
        });
        let kept = state.kept_files().of_run(&directory.path);
        let left = |job: &JobHistory| products(&plan, &kept, job);
        let progress = earlier.map(|earlier| earlier.progress(left));
        run.logs.add(directory.path.clone(), attempt, &plan);
        let controls = Controls::default();
        run.options.controls.add(&plan, &controls);
        let notices = &run.options.notices;
        let control = Control::listen(&directory.path, &plan, &controls, notices);
        let below = Self {
            pipeline_tree: Arc::clone(tree),
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

    /// Returns the record of a pipeline that a job starts.
    fn record(&self, parent: &ParentJob, plan: &Plan, project: &LocalProject) -> RunRecord {
        let selection = Selection::default();
        let executor = &self.pipeline_tree.executor;
        let command = &self.pipeline_tree.run.options.command;
        let mut record = RunRecord::new(plan, project, &selection, executor, command);
        record.parent = Some(parent.clone());
        let is_other = parent.project.is_some();
        record.above = is_other.then(|| self.state.root().to_owned());
        record
    }
}
