use super::context::of_child;
use super::downstream::{Created, Upper};
use super::read_pipeline::ReadPipeline;
use super::refusal::{Refusal, say, warn};
use crate::history::Earlier;
use crate::history::state::{PipelineDir, ProjectState};
use crate::project::local_project::LocalProject;
use crate::project::run_steps::check_steps;
use crate::project::situation::stamp;
use crate::run::artifacts::PipelineArtifacts;
use executor_core::{Cancellation, FailureReason, JobObserver};
use job_runner::StoredArtifacts;
use pipeline::context::PipelineContext;
use pipeline::{Plan, Selection, create};
use scheduler::Bridge;
use std::sync::Arc;
use yaml::diagnostic::{Checked, Diagnostics};

/// How deep child pipelines are nested at most.
const DEEPEST: usize = 2;

/// A pipeline that was read and is to be planned.
pub(super) struct Below<'a> {
    /// The job that starts it.
    pub(super) bridge: &'a Bridge,
    /// Its project.
    pub(super) project: &'a LocalProject,
    /// The state of that.
    pub(super) state: &'a ProjectState,
    pub(super) read: &'a ReadPipeline,
}

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
        let below = Below {
            bridge,
            project: &self.project,
            state: &self.state,
            read: &read,
        };
        let (plan, directory, earlier) = self.plan(&below, context, diagnostics, cancellation)?;
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

    /// Plans a pipeline that was read, in a directory of its own: that of an earlier life, when it had
    /// begun before the run was gone on with.
    pub(super) fn plan(
        &self,
        below: &Below<'_>,
        mut context: PipelineContext,
        mut diagnostics: Diagnostics,
        cancellation: &Cancellation,
    ) -> Result<(Plan, PipelineDir, Option<Earlier>), Refusal> {
        let Below {
            bridge,
            project,
            state,
            read,
        } = below;
        let observer = &*bridge.observer;
        let resolved = read.loaded.resolve(&mut diagnostics);
        check_steps(&read.loaded, &resolved, &mut diagnostics);
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
        let job = bridge.plan.jobs()[bridge.index].name();
        let parent = (self.project.root(), bridge.plan.id().0, job);
        let pipeline_tree = &self.pipeline_tree;
        let earlier = pipeline_tree.earlier_pipeline(project.root(), state, parent);
        let earlier = earlier.map_err(|error| failure(&error))?;
        let (directory, earlier) = if let Some((directory, earlier)) = earlier {
            (directory, Some(earlier))
        } else {
            let new = pipeline_tree.new_pipeline(state);
            (new.map_err(|error| failure(&error))?, None)
        };
        stamp(&mut context, directory.id);
        let creation = create(&resolved, &context, &**repository);
        let mut selection = Selection::default();
        if let Some(earlier) = &earlier {
            earlier.add_played(&mut selection, |name| {
                creation.job(name).is_some_and(|job| job.is_included)
            });
        }
        let plan = Plan::new(&creation, context, &selection);
        let plan = plan.and_then(|plan| plan.check_local().map(|()| plan));
        let plan = plan.map_err(|error| Refusal::not_created(error.to_string()))?;
        let mut plan = plan.in_dialect(read.options.dialect);
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
