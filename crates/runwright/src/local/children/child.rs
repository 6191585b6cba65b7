use super::context::of_child;
use super::downstream::{Created, Upper};
use super::read_pipeline::ReadPipeline;
use super::refusal::{Refusal, say, warn};
use crate::local::artifacts::PipelineArtifacts;
use crate::local::runs::Earlier;
use crate::local::situation::stamp;
use crate::local::state::{PipelineDir, ProjectState};
use executor_core::{Cancellation, FailureReason, JobObserver};
use job_runner::StoredArtifacts;
use pipeline::context::PipelineContext;
use pipeline::diagnostic::{Checked, Diagnostics};
use pipeline::event::ParentJob;
use pipeline::scheduler::Bridge;
use pipeline::{Plan, Selection, create};
use std::sync::Arc;

/// How deep child pipelines are nested at most.
const DEEPEST: usize = 2;

impl Upper {
    /// Creates the child pipeline of a job.
    pub(super) fn child(
        &self,
        bridge: &Bridge,
        cancellation: &Cancellation,
    ) -> Result<Created, Refusal> {
        let observer = &*bridge.observer;
        let context = of_child(bridge);
        let name = bridge.plan.jobs()[bridge.index].name_in_file();
        let checked = self.read.child(name, &context, self.artifacts(bridge));
        let Some(Checked { value, diagnostics }) = checked else {
            return Err(Refusal::not_created("the job names no file of a pipeline"));
        };
        for note in self.read.outside.take_notes() {
            say(observer, &note);
        }
        let Some(read) = value else {
            if self.read.loaded.depth() >= DEEPEST {
                warn(observer, &diagnostics.to_string());
                let message = format!("child pipelines are nested at most {DEEPEST} levels deep");
                let reason = FailureReason::ReachedMaxDescendantPipelinesDepth;
                return Err(Refusal::new(reason, message));
            }
            return Err(invalid(observer, &diagnostics));
        };
        let parent = ParentJob {
            pipeline: bridge.plan.id(),
            job: bridge.plan.jobs()[bridge.index].name().into(),
            project: None,
        };
        let (plan, directory, earlier) = self.plan(
            &read,
            &self.state,
            Some(&parent),
            context,
            diagnostics,
            (observer, cancellation),
        )?;
        Ok(Created {
            plan,
            project: self.project.clone(),
            read: Arc::new(read),
            state: self.state.clone(),
            sources: self.sources.clone(),
            directory,
            earlier,
            other: None,
            above: self.family(),
            ancestry: self.ancestry.clone(),
        })
    }

    /// Returns what the jobs of this pipeline and of those above leave.
    fn family(&self) -> Vec<StoredArtifacts> {
        let own = self.state.kept_files().of_run(&self.path);
        std::iter::once(own)
            .chain(self.above.iter().cloned())
            .collect()
    }

    /// Returns what the jobs of this pipeline left until now.
    fn artifacts(&self, bridge: &Bridge) -> PipelineArtifacts {
        let artifacts = self.state.kept_files().of_run(&self.path);
        let jobs = bridge.plan.jobs().iter();
        PipelineArtifacts::new(artifacts, jobs.map(|job| (job.name().to_owned(), job.id)))
    }

    /// Plans a pipeline that was read, in a directory of its own: that of an earlier life, when it is a
    /// child of `parent` that had begun.
    pub(super) fn plan(
        &self,
        read: &ReadPipeline,
        state: &ProjectState,
        parent: Option<&ParentJob>,
        mut context: PipelineContext,
        mut diagnostics: Diagnostics,
        (observer, cancellation): (&dyn JobObserver, &Cancellation),
    ) -> Result<(Plan, PipelineDir, Option<Earlier>), Refusal> {
        let resolved = read.loaded.resolve(&mut diagnostics);
        if diagnostics.has_errors() {
            return Err(invalid(observer, &diagnostics));
        }
        if !diagnostics.is_empty() {
            warn(observer, &diagnostics.to_string());
        }
        let repository = read.surroundings.repository();
        // Whether there will be a pipeline does not depend on its number, and a pipeline that is
        // none gets none.
        let creation = create(&resolved, &context, &**repository);
        if let Some(refusal) = &creation.refusal {
            return Err(Refusal::not_created(refusal.to_string()));
        }
        if cancellation.is_canceled() {
            return Err(Refusal::not_created("the job was canceled"));
        }
        let earlier = parent.map(|parent| self.household.earlier_pipeline(state, parent));
        let (directory, earlier) = match earlier.transpose().map_err(|error| failure(&error))? {
            Some(Some((directory, earlier))) => (directory, Some(earlier)),
            Some(None) | None => {
                let new = self.household.new_pipeline(state);
                (new.map_err(|error| failure(&error))?, None)
            }
        };
        stamp(&mut context, directory.id);
        let creation = create(&resolved, &context, &**repository);
        let plan = Plan::new(&creation, context, &Selection::default());
        let plan = plan.and_then(|plan| plan.check_local().map(|()| plan));
        let mut plan = plan.map_err(|error| Refusal::not_created(error.to_string()))?;
        if let Some(earlier) = &earlier {
            plan.keep_ids(&earlier.ids());
        }
        Ok((plan, directory, earlier))
    }
}

fn failure(error: &(dyn std::error::Error + 'static)) -> Refusal {
    let chain = executor_core::chain(error);
    Refusal::new(FailureReason::RunnerSystemFailure, chain)
}

fn invalid(observer: &dyn JobObserver, diagnostics: &Diagnostics) -> Refusal {
    warn(observer, &diagnostics.to_string());
    Refusal::not_created("the files of the pipeline are invalid")
}
