//! From a resolved pipeline to a graph of jobs that can be handed out.

mod dependencies;
mod error;
mod payload;
mod selection;

pub use error::PlanError;
pub use selection::{NeedsMode, Selection};

use crate::config::Variables;
use crate::context::{PipelineContext, VariableCycle, is_raw, sort_and_expand};
use crate::resolve::ResolvedPipeline;
use crate::slug::path_slug;
use executor_core::job::{Job, JobDefinition, JobId, PipelineId};
use executor_core::variable::JobVariable;
use std::collections::HashMap;
use std::sync::Arc;

/// The jobs of one pipeline run and how they wait for each other.
///
/// Empty when the pipeline has nothing to run: GitLab creates no pipeline whose jobs are all in
/// `.pre` or `.post`.
#[derive(Debug, Clone)]
pub struct Plan {
    stages: Vec<String>,
    jobs: Vec<PlannedJob>,
    /// The global variables of the file, which say which values are raw.
    variables: Variables,
    context: Arc<PipelineContext>,
}

/// One job of a [`Plan`].
#[derive(Debug, Clone)]
pub struct PlannedJob {
    /// Its id, unique within the pipeline; all attempts share it.
    pub id: JobId,
    /// What the file says of it.
    pub definition: JobDefinition,
    /// A name for its directory that is safe and no other job of the pipeline has.
    pub slug: String,
    /// The place of its stage in the order of stages.
    pub stage_index: usize,
    /// The places of the jobs it needs; `None` when it waits for all earlier stages.
    pub needs: Option<Vec<usize>>,
    /// Whether somebody asked for it, so that it starts although it is manual.
    pub is_played: bool,
}

impl Plan {
    /// Plans the jobs that `selection` asks for.
    ///
    /// # Errors
    ///
    /// When the selection names a job or stage there is not, or when variables of a job refer to
    /// each other in a circle.
    pub fn new(
        pipeline: &ResolvedPipeline,
        context: PipelineContext,
        selection: &Selection,
    ) -> Result<Self, PlanError> {
        let chosen = selection.choose(pipeline)?;
        let mut order: Vec<(usize, &JobDefinition)> = chosen
            .iter()
            .map(|&index| &pipeline.jobs[index])
            .map(|job| (pipeline.stage_index(&job.stage).unwrap_or(0), job))
            .collect();
        order.sort_by_key(|&(stage_index, _)| stage_index);

        let places = order.iter().enumerate();
        let places: HashMap<&str, usize> = places.map(|(at, (_, job))| (&*job.name, at)).collect();
        let mut jobs = Vec::with_capacity(order.len());
        for (id, &(stage_index, definition)) in (context.first_job_id..).map(JobId).zip(&order) {
            let needs = definition.needs.as_ref().map(|needs| {
                let found = needs.iter().filter_map(|need| places.get(&*need.job));
                found.copied().collect()
            });
            jobs.push(PlannedJob {
                id,
                definition: definition.clone(),
                slug: path_slug(&definition.name),
                stage_index,
                needs,
                is_played: selection.plays(definition),
            });
        }
        let plan = Self {
            stages: pipeline.stages.clone(),
            jobs,
            variables: pipeline.variables.clone(),
            context: Arc::new(context),
        };
        plan.check_variables()?;
        Ok(plan)
    }

    /// Finds out now what would fail when a job is handed out.
    fn check_variables(&self) -> Result<(), PlanError> {
        let given = self.context.secrets.iter().chain(&self.context.variables);
        let may_refer = |value: &str| value.contains(['$', '%']);
        let all = given
            .map(|variable| &variable.value)
            .any(|value| may_refer(value));
        for job in &self.jobs {
            if !all
                && !job
                    .definition
                    .variables
                    .values()
                    .any(|value| may_refer(value))
            {
                continue;
            }
            self.job_variables(job)
                .map_err(|source| PlanError::Variables {
                    job: job.name().to_owned(),
                    source,
                })?;
        }
        Ok(())
    }

    /// Returns the variables of a job, references among them replaced.
    fn job_variables(&self, job: &PlannedJob) -> Result<Vec<JobVariable>, VariableCycle> {
        let definition = &job.definition;
        let raw = |name: &str| is_raw(definition, &self.variables, name);
        let variables = self.context.variables_of(definition, job.id, raw);
        sort_and_expand(variables.iter().cloned().collect())
    }

    /// Returns the stages in order, also those without a job.
    pub fn stages(&self) -> &[String] {
        &self.stages
    }

    /// Returns the jobs by stage, within a stage in the order of the file.
    pub fn jobs(&self) -> &[PlannedJob] {
        &self.jobs
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
        self.jobs.iter().position(|job| job.definition.name == name)
    }

    /// Returns the places of the jobs whose artifacts the job at `index` fetches.
    pub fn dependencies(&self, index: usize) -> Vec<usize> {
        dependencies::of(&self.jobs, index)
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
        payload::of(self, index)
    }
}

impl PlannedJob {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}
