use super::context::of_child;
use super::parent_pipeline::{CreatedPipeline, ParentPipeline};
use super::read_pipeline::ReadPipeline;
use super::refusal::{Refusal, note, warn};
use crate::history::state::{PipelineDir, ProjectState};
use crate::history::{ContinuedRun, ParentOfRun};
#[cfg(feature = "functions")]
use crate::project::check_steps::check_steps;
use crate::project::situation::stamp;
use crate::run::artifacts::PipelineArtifacts;
use crate::run::other_projects;
use crate::run::planning::plan_created;
use executor_core::{Cancellation, FailureReason};
use job_runner::StoredArtifacts;
use pipeline::context::PipelineContext;
use pipeline::{Plan, Selection, create};
use scheduler::Bridge;
use std::sync::Arc;
use yaml::diagnostic::{Checked, Diagnostics};

/// How deep child pipelines may be nested, as in GitLab.
const MAX_DEPTH: usize = 2;

/// A downstream pipeline before it is planned.
pub(super) struct Unplanned<'a> {
    /// The job that starts it.
    pub(super) bridge: &'a Bridge,
    /// The state of its project.
    pub(super) state: &'a ProjectState,
    pub(super) read: &'a ReadPipeline,
}

impl ParentPipeline {
    /// Creates the child pipeline of a job.
    pub(super) fn child(
        &self,
        bridge: &Bridge,
        cancellation: &Cancellation,
    ) -> Result<CreatedPipeline, Refusal> {
        let context = of_child(bridge);
        let name = bridge.plan.jobs()[bridge.index].name_in_file();
        let checked = self.read.child(name, &context, self.artifacts(bridge));
        let Some(Checked { value, diagnostics }) = checked else {
            return Err(Refusal::not_created("the job names no file of a pipeline"));
        };
        for text in self.read.outside.take_notes() {
            note(bridge, &text);
        }
        let Some(read) = value else {
            if self.read.loaded.depth() >= MAX_DEPTH {
                warn(bridge, &diagnostics.to_string());
                let message = format!("child pipelines are nested at most {MAX_DEPTH} levels deep");
                let reason = FailureReason::ReachedMaxDescendantPipelinesDepth;
                return Err(Refusal::new(reason, message));
            }
            return Err(invalid(bridge, &diagnostics));
        };
        let unplanned = Unplanned {
            bridge,
            state: &self.state,
            read: &read,
        };
        let (plan, directory, earlier) =
            self.plan(&unplanned, context, diagnostics, cancellation)?;
        Ok(CreatedPipeline {
            plan,
            read: Arc::new(read),
            state: self.state.clone(),
            sources: self.sources.clone(),
            directory,
            earlier,
            other_project: None,
            above: self.artifacts_for_children(),
            ancestry: self.ancestry.clone(),
        })
    }

    /// Returns the artifacts of this pipeline and of those above it.
    fn artifacts_for_children(&self) -> Vec<StoredArtifacts> {
        let own = self.state.kept_files().of_run(&self.path);
        std::iter::once(own)
            .chain(self.above.iter().cloned())
            .collect()
    }

    /// Returns the artifacts of this pipeline's jobs, for includes of a child pipeline.
    fn artifacts(&self, bridge: &Bridge) -> PipelineArtifacts {
        let artifacts = self.state.kept_files().of_run(&self.path);
        let jobs = bridge.plan.jobs().iter();
        PipelineArtifacts::new(artifacts, jobs.map(|job| (job.name().to_owned(), job.id)))
    }

    /// Plans a pipeline in a directory of its own: that of the earlier run, if the job had started it.
    pub(super) fn plan(
        &self,
        unplanned: &Unplanned<'_>,
        mut context: PipelineContext,
        mut diagnostics: Diagnostics,
        cancellation: &Cancellation,
    ) -> Result<(Plan, PipelineDir, Option<ContinuedRun>), Refusal> {
        let Unplanned {
            bridge,
            state,
            read,
        } = unplanned;
        let resolved = read.loaded.resolve(&mut diagnostics);
        #[cfg(feature = "functions")]
        check_steps(&read.loaded, &resolved, &mut diagnostics);
        if diagnostics.has_errors() {
            return Err(invalid(bridge, &diagnostics));
        }
        if !diagnostics.is_empty() {
            warn(bridge, &diagnostics.to_string());
        }
        let repository = read.project_context.repository();
        // Whether the pipeline exists does not depend on its number, and a refused one gets no number.
        let creation = create(&resolved, &context, &**repository);
        if let Some(refusal) = &creation.refusal {
            return Err(Refusal::not_created(refusal.to_string()));
        }
        if cancellation.is_canceled() {
            return Err(Refusal::not_created("the job was canceled"));
        }
        let parent = ParentOfRun {
            project: self.state.root().to_owned(),
            run: bridge.plan.id().0,
            job: bridge.plan.jobs()[bridge.index].name().to_owned(),
        };
        let pipeline_tree = &self.pipeline_tree;
        let earlier = pipeline_tree.earlier_pipeline(state.root(), state, &parent);
        let earlier = earlier.map_err(|error| Refusal::failure(&error))?;
        let (directory, earlier) = if let Some((directory, earlier)) = earlier {
            (directory, Some(earlier))
        } else {
            let new = pipeline_tree.new_pipeline(state);
            (new.map_err(|error| Refusal::failure(&error))?, None)
        };
        stamp(&mut context, directory.id);
        let mut creation = create(&resolved, &context, &**repository);
        creation.mask_names(&bridge.job.variables);
        let mut selection = Selection::default();
        if pipeline_tree.run.options.ignore_other_projects {
            let left_out = other_projects::leave_out(&mut creation, &context, &read.outside);
            let left_out = left_out.map_err(|error| Refusal::not_created(error.to_string()))?;
            let warnings = left_out.warnings.iter();
            warnings.for_each(|warning| warn(bridge, warning));
            selection.skip = left_out.jobs;
        }
        let plan = plan_created(
            &creation,
            context,
            selection,
            read.options.dialect,
            earlier.as_ref(),
        );
        let plan = plan.map_err(|error| Refusal::not_created(error.to_string()))?;
        Ok((plan, directory, earlier))
    }
}

fn invalid(bridge: &Bridge, diagnostics: &Diagnostics) -> Refusal {
    warn(bridge, &diagnostics.to_string());
    Refusal::not_created("the files of the pipeline are invalid")
}
