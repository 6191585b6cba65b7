//! From a created pipeline to a graph of jobs that can be handed out.

mod caches;
mod dependencies;
mod error;
mod expanded;
mod forward;
mod ids;
mod local;
mod names;
mod payload;
mod relatives;
mod selection;
mod skipped;
mod variables;

pub use error::PlanError;
pub use selection::{NeedsMode, Selection, UnknownNames};
pub use skipped::SkippedJob;
pub use variables::{LAST, of_pipeline, predefined_of_job};

use crate::config::Variables;
use crate::context::PipelineContext;
use crate::create::{CreatedJob, Creation, Layers, Refusal};
use crate::dialect::Dialect;
use crate::rules::{AutoCancel, OnJobFailure};
use crate::scheduling_policy::SchedulingPolicy;
use crate::slug::path_slug;
use executor_core::job::{Job, JobDefinition, JobId, PipelineId, When};
use executor_core::variable::{JobVariable, JobVariables};
use std::collections::HashMap;
use std::sync::Arc;

/// The jobs of one pipeline run and how they wait for each other.
///
/// Empty when the pipeline has nothing to run: GitLab creates no pipeline whose jobs are all in
/// `.pre` or `.post`.
#[derive(Debug, Clone)]
pub struct Plan {
    name: Option<String>,
    refusal: Option<Refusal>,
    stages: Vec<String>,
    jobs: Vec<PlannedJob>,
    /// What was skipped, with what does without it.
    skipped: Vec<SkippedJob>,
    /// The places of the jobs by name.
    places: HashMap<String, usize>,
    /// The places of the jobs by their ids, where those do not follow one another.
    kept_ids: Option<HashMap<JobId, usize>>,
    /// The places of the jobs that leave artifacts, in order.
    producers: Vec<usize>,
    global_variables: Arc<Variables>,
    workflow_variables: Arc<Variables>,
    auto_cancel: AutoCancel,
    dialect: Dialect,
    /// What all jobs see, computed once.
    predefined: JobVariables,
    context: Arc<PipelineContext>,
}

/// One job of a [`Plan`].
#[derive(Debug, Clone)]
pub struct PlannedJob {
    /// Its id, unique within the pipeline; all attempts share it.
    pub id: JobId,
    /// What the file says of it.
    pub definition: Arc<JobDefinition>,
    /// A name for its directory that is safe and no other job of the pipeline has.
    pub slug: String,
    /// The place of its stage in the order of stages.
    pub stage_index: usize,
    /// The places of the jobs it needs; `None` when it waits for all earlier stages.
    pub needs: Option<Vec<usize>>,
    /// Whether somebody asked for it by name, so that it starts although it is manual, or although
    /// nothing failed before it.
    pub is_played: bool,
    /// What decided that it is in the pipeline.
    created: CreatedJob,
}

impl Plan {
    /// Plans the jobs of a pipeline that `selection` asks for.
    ///
    /// # Errors
    ///
    /// When the selection names a job or stage there is not, when rules leave a named job out, or
    /// when there is no pipeline because of a mistake, or although jobs are named.
    pub fn new(
        creation: &Creation,
        context: PipelineContext,
        selection: &Selection,
    ) -> Result<Self, PlanError> {
        let chosen = selection.choose(creation)?;
        let stages = creation.stage_places();
        let stage_of = |job: &CreatedJob| stages.get(&*job.definition.stage).copied().unwrap_or(0);
        let mut order: Vec<(usize, usize)> = chosen
            .jobs
            .iter()
            .map(|&index| (stage_of(&creation.jobs[index]), index))
            .collect();
        order.sort_unstable();

        let name = |index: usize| creation.jobs[index].name().to_owned();
        let places = order.iter().enumerate();
        let places: HashMap<String, usize> =
            places.map(|(at, &(_, index))| (name(index), at)).collect();
        let mut jobs = Vec::with_capacity(order.len());
        for (id, &(stage_index, index)) in (context.first_job_id..).map(JobId).zip(&order) {
            let created = &creation.jobs[index];
            let needs = created.definition.needs.as_ref().map(|needs| {
                let found = needs.iter().filter_map(|need| places.get(&need.job));
                found.copied().collect()
            });
            jobs.push(PlannedJob {
                id,
                definition: Arc::clone(&created.definition),
                slug: path_slug(created.name()),
                stage_index,
                needs,
                is_played: chosen.played.contains(&index),
                created: created.clone(),
            });
        }
        let producers = (0..jobs.len()).filter(|&at| jobs[at].leaves_artifacts());
        let producers = producers.collect();
        let predefined = of_pipeline(creation.name.as_deref(), &context);
        let skipped = skipped::of(creation, &chosen.skipped, &jobs);
        Ok(Self {
            name: creation.shown_name.clone(),
            refusal: creation.refusal.clone(),
            stages: creation.stages.clone(),
            jobs,
            skipped,
            places,
            kept_ids: None,
            producers,
            global_variables: Arc::clone(&creation.global_variables),
            workflow_variables: Arc::clone(&creation.workflow_variables),
            auto_cancel: creation.auto_cancel,
            dialect: Dialect::default(),
            predefined,
            context: Arc::new(context),
        })
    }

    /// Returns what the variables of the jobs are looked up in.
    fn layers(&self) -> Layers<'_> {
        let (global, workflow) = (&self.global_variables, &self.workflow_variables);
        Layers::new(&self.context, &self.predefined, global, workflow)
    }

    /// Returns why there is no pipeline; absent when there is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Returns the name of the pipeline.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the stages in order, also those without a job.
    pub fn stages(&self) -> &[String] {
        &self.stages
    }

    /// Returns the jobs by stage, within a stage in the order of the file.
    pub fn jobs(&self) -> &[PlannedJob] {
        &self.jobs
    }

    /// Returns the jobs that would be here if the selection did not skip them.
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

    /// Returns what the pipeline knows besides its file.
    pub fn context(&self) -> &PipelineContext {
        &self.context
    }

    /// Returns the place of the job of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Returns the plan as a tool runs it that has this dialect.
    #[must_use]
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Returns by whose rules it is run.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns how the plan's dialect orders its jobs and judges their failures.
    pub fn scheduling_policy(&self) -> SchedulingPolicy {
        let has_needs = self.jobs.iter().any(|job| job.needs.is_some());
        SchedulingPolicy::new(self.dialect, has_needs)
    }

    /// Returns what the workflow says about canceling its jobs.
    pub fn auto_cancel(&self) -> AutoCancel {
        self.auto_cancel
    }

    /// Returns whether the failure of one job stops all others.
    pub fn stops_at_failure(&self) -> bool {
        self.auto_cancel.on_job_failure == Some(OnJobFailure::All)
    }

    /// Returns the name of the resource group of the job at `index`, expanded, if it has one.
    pub fn resource_group(&self, index: usize) -> Option<String> {
        let job = self.jobs.get(index)?;
        let written = job.definition.resource_group.as_deref()?;
        let layers = self.layers();
        let sight = Creation::sight(&job.created, &layers);
        // What cannot be expanded stopped the creation of the pipeline, or stays.
        let name = sight.expand(written);
        Some(name.unwrap_or_else(|_| written.to_owned()))
    }

    /// Returns the places of the jobs whose artifacts the job at `index` fetches.
    pub fn dependencies(&self, index: usize) -> Vec<usize> {
        dependencies::of(self, index)
    }

    /// Returns the variables that the pipeline started by the job at `index` gets from this one;
    /// `dotenv` are those from reports of the jobs whose artifacts it fetches.
    ///
    /// # Panics
    ///
    /// Panics when there is no such job.
    pub fn forwarded(&self, index: usize, dotenv: &[JobVariable]) -> JobVariables {
        forward::of(self, index, dotenv)
    }

    /// Returns the job at `index` as an executor gets it.
    ///
    /// It is made when it is asked for: payloads of large pipelines list each other, and all of them
    /// together would need the square of the memory.
    ///
    /// # Panics
    ///
    /// Panics when there is no such job.
    pub fn payload(&self, index: usize) -> Job {
        self.payload_with(index, &[])
    }

    /// Returns the same with variables from dotenv reports of earlier jobs, of which a later one
    /// wins: they win over what the file says, and give way to what a project or the pipeline
    /// itself was given.
    ///
    /// # Panics
    ///
    /// Panics when there is no such job.
    pub fn payload_with(&self, index: usize, dotenv: &[JobVariable]) -> Job {
        payload::of(self, index, dotenv)
    }
}

impl PlannedJob {
    /// Returns whether it starts another pipeline instead of running a script.
    pub fn is_bridge(&self) -> bool {
        self.definition.trigger.is_some()
    }

    /// Returns whether the job starts by itself, or somebody asked for it: a manual job waits.
    pub fn will_start(&self) -> bool {
        self.definition.when != When::Manual || self.is_played
    }

    /// Returns whether a newer pipeline may stop it.
    pub fn is_interruptible(&self) -> bool {
        self.definition.interruptible == Some(true)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the name it has in the file, without what `parallel` adds.
    pub fn name_in_file(&self) -> &str {
        &self.created.resolved.name_in_file
    }

    /// Returns the variables that `parallel:matrix` gives it; empty for any other job.
    pub fn matrix(&self) -> &[(String, String)] {
        &self.created.resolved.matrix
    }

    fn leaves_artifacts(&self) -> bool {
        self.definition.artifacts.is_some()
    }
}
