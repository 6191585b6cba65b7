//! Plans a created pipeline: a graph of jobs ready to be assigned.

mod ancestors;
mod build;
mod caches;
mod dependencies;
mod error;
mod expanded;
mod forward;
mod local;
mod names;
mod payload;
mod selection;
mod variables;

pub use error::{PlanError, RefusedJob};
pub use selection::{NeedsMode, Selection, UnknownNames};
pub use variables::{LAST, of_pipeline, predefined_of_job};

use crate::config::Variables;
use crate::context::PipelineContext;
use crate::create::{CreatedJob, Creation, Layers, Refusal};
use crate::dialect::Dialect;
use crate::rules::{AutoCancel, OnJobFailure};
use crate::scheduling_policy::SchedulingPolicy;
use executor_core::job::{JobDefinition, JobId, PipelineId, When};
use executor_core::variable::JobVariables;
use std::collections::HashMap;
use std::sync::Arc;

/// The jobs of one pipeline run and their dependencies.
///
/// Empty when there is nothing to run: GitLab creates no pipeline whose jobs are all in `.pre` or
/// `.post`.
#[derive(Debug, Clone)]
pub struct Plan {
    name: Option<String>,
    refusal: Option<Refusal>,
    stages: Vec<String>,
    jobs: Vec<PlannedJob>,
    /// The skipped jobs, with the jobs that run without them.
    skipped: Vec<SkippedJob>,
    /// The indices of the jobs by name.
    indices: HashMap<String, usize>,
    /// The indices of the jobs by id, if the ids are not consecutive.
    kept_ids: Option<HashMap<JobId, usize>>,
    /// The indices of the jobs that have artifacts, in order.
    producers: Vec<usize>,
    global_variables: Arc<Variables>,
    workflow_variables: Arc<Variables>,
    auto_cancel: AutoCancel,
    dialect: Dialect,
    /// The predefined variables of all jobs, computed once.
    predefined: JobVariables,
    context: Arc<PipelineContext>,
}

/// A job that a selection skips.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedJob {
    /// Its name.
    pub name: String,
    /// The jobs of the plan that name it in `needs` or `dependencies`, and run without it.
    pub needed_by: Vec<String>,
    /// Whether it has artifacts, which those jobs then lack.
    pub leaves_artifacts: bool,
}

/// One job of a [`Plan`].
#[derive(Debug, Clone)]
pub struct PlannedJob {
    /// Its id, unique within the pipeline; all attempts share it.
    pub id: JobId,
    /// Its definition in the file.
    pub definition: Arc<JobDefinition>,
    /// A safe name for its directory, unique in the pipeline.
    pub slug: String,
    /// The index of its stage.
    pub stage_index: usize,
    /// The indices of the jobs it needs; `None` when it waits for all earlier stages.
    pub needs: Option<Vec<usize>>,
    /// Whether it was selected by name, so that it starts although it is manual, or although no job
    /// failed before it.
    pub is_played: bool,
    /// The created job, with the conditions that put it into the pipeline.
    created: CreatedJob,
}

impl Plan {
    /// Returns the layers of variables of the pipeline.
    fn layers(&self) -> Layers<'_> {
        let (global, workflow) = (&self.global_variables, &self.workflow_variables);
        Layers::new(&self.context, &self.predefined, global, workflow)
    }

    /// Returns why the pipeline was not created; absent when it was.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Returns the name of the pipeline.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the stages in order, including those without a job.
    pub fn stages(&self) -> &[String] {
        &self.stages
    }

    /// Returns the jobs by stage, within a stage in file order.
    pub fn jobs(&self) -> &[PlannedJob] {
        &self.jobs
    }

    /// Returns the jobs that only the selection's `skip` excludes.
    pub fn skipped(&self) -> &[SkippedJob] {
        &self.skipped
    }

    /// Returns whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns the pipeline's id.
    pub fn id(&self) -> PipelineId {
        self.context.id
    }

    /// Returns the context of the pipeline.
    pub fn context(&self) -> &PipelineContext {
        &self.context
    }

    /// Returns the index of the job of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.indices.get(name).copied()
    }

    /// Returns the plan with the dialect it runs in.
    #[must_use]
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Returns the dialect it runs in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns how the plan's dialect orders its jobs and judges their failures.
    pub fn scheduling_policy(&self) -> SchedulingPolicy {
        let has_needs = self.jobs.iter().any(|job| job.needs.is_some());
        SchedulingPolicy::new(self.dialect, has_needs)
    }

    /// Returns the `auto_cancel` of its workflow.
    pub fn auto_cancel(&self) -> AutoCancel {
        self.auto_cancel
    }

    /// Returns whether the failure of one job cancels all others.
    pub fn stops_at_failure(&self) -> bool {
        self.auto_cancel.on_job_failure == Some(OnJobFailure::All)
    }

    /// Returns the name of the resource group of the job at `index`, expanded, if it has one.
    pub fn resource_group(&self, index: usize) -> Option<String> {
        let job = self.jobs.get(index)?;
        let written = job.definition.resource_group.as_deref()?;
        let layers = self.layers();
        let job_layers = Creation::job_layers(&job.created, &layers);
        // A failed expansion either prevented the pipeline's creation or leaves the text unchanged.
        let name = job_layers.expand(written);
        Some(name.unwrap_or_else(|_| written.to_owned()))
    }

    /// Returns the index of the job with this id.
    pub fn position_of(&self, id: JobId) -> Option<usize> {
        if let Some(kept) = &self.kept_ids {
            return kept.get(&id).copied();
        }
        let at = id.0.checked_sub(self.context.first_job_id)?;
        let at = usize::try_from(at).ok()?;
        (at < self.jobs.len()).then_some(at)
    }

    /// Assigns the jobs the ids that jobs of the same names had in an earlier run of the pipeline;
    /// all others get unused ids.
    pub fn keep_ids(&mut self, known: &HashMap<String, JobId>) {
        let highest = known.values().map(|id| id.0.saturating_add(1)).max();
        let first = self.context.first_job_id;
        let mut free = (highest.unwrap_or(first).max(first)..).map(JobId);
        for job in &mut self.jobs {
            let known = known.get(&*job.definition.name).copied();
            if let Some(id) = known.or_else(|| free.next()) {
                job.id = id;
            }
        }
        let ids = self.jobs.iter().enumerate();
        self.kept_ids = Some(ids.map(|(at, job)| (job.id, at)).collect());
    }
}

impl PlannedJob {
    /// Returns whether it starts another pipeline instead of running a script.
    pub fn is_bridge(&self) -> bool {
        self.definition.trigger.is_some()
    }

    /// Returns whether the job starts without being played: only a manual job that was not selected
    /// waits.
    pub fn will_start(&self) -> bool {
        self.definition.when != When::Manual || self.is_played
    }

    /// Returns whether a newer pipeline may cancel it.
    pub fn is_interruptible(&self) -> bool {
        self.definition.interruptible == Some(true)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns its name in the file, without the suffix from `parallel`.
    pub fn name_in_file(&self) -> &str {
        &self.created.resolved.name_in_file
    }

    /// Returns its variables from `parallel:matrix`; empty for any other job.
    pub fn matrix(&self) -> &[(String, String)] {
        &self.created.resolved.matrix
    }

    fn has_artifacts(&self) -> bool {
        self.definition.artifacts.is_some()
    }
}
