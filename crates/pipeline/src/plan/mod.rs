//! From a resolved pipeline to a graph of jobs that can be handed out.

mod dependencies;
mod error;
mod payload;
mod selection;

pub use error::PlanError;
pub use selection::{NeedsMode, Selection};

use crate::config::Variables;
use crate::context::{Kept, PipelineContext, has_references, is_raw, sort_and_expand};
use crate::resolve::ResolvedPipeline;
use crate::slug::path_slug;
use executor_core::job::{Job, JobDefinition, JobId, PipelineId};
use executor_core::variable::{JobVariable, JobVariables};
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
    /// The places of the jobs by name.
    places: HashMap<String, usize>,
    /// The places of the jobs that leave artifacts, in order.
    producers: Vec<usize>,
    /// The global variables of the file, which say which values are raw.
    variables: Variables,
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
        let stages = pipeline.stage_indices();
        let stage_of = |job: &JobDefinition| stages.get(&*job.stage).copied().unwrap_or(0);
        let mut order: Vec<(usize, usize)> = chosen
            .jobs
            .iter()
            .map(|&index| (stage_of(&pipeline.jobs[index].definition), index))
            .collect();
        order.sort_unstable();

        let name = |index: usize| pipeline.jobs[index].definition.name.clone();
        let places = order.iter().enumerate();
        let places: HashMap<String, usize> =
            places.map(|(at, &(_, index))| (name(index), at)).collect();
        let mut jobs = Vec::with_capacity(order.len());
        for (id, &(stage_index, index)) in (context.first_job_id..).map(JobId).zip(&order) {
            let definition = &pipeline.jobs[index].definition;
            let needs = definition.needs.as_ref().map(|needs| {
                let found = needs.iter().filter_map(|need| places.get(&need.job));
                found.copied().collect()
            });
            jobs.push(PlannedJob {
                id,
                definition: Arc::clone(definition),
                slug: path_slug(&definition.name),
                stage_index,
                needs,
                is_played: chosen.played.contains(&index),
            });
        }
        let producers = (0..jobs.len()).filter(|&at| jobs[at].leaves_artifacts());
        let producers = producers.collect();
        let predefined = context.pipeline_variables();
        let plan = Self {
            stages: pipeline.stages.clone(),
            jobs,
            places,
            producers,
            variables: pipeline.variables.clone(),
            predefined,
            context: Arc::new(context),
        };
        plan.check_variables()?;
        Ok(plan)
    }

    /// Finds out now what would fail when a job is handed out.
    ///
    /// Predefined variables refer to nothing, so they can be left out here.
    fn check_variables(&self) -> Result<(), PlanError> {
        let may_refer = |value: &str| value.contains(['$', '%']);
        let mut given = self.context.given.iter();
        let all = given.any(|given| may_refer(&given.variable.value));
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
            let raw = |name: &str| is_raw(&job.definition, &self.variables, name);
            let variables: JobVariables = self.given_variables(&job.definition, raw).collect();
            let expanded = sort_and_expand(variables.iter().cloned().collect(), Kept::FOR_RUNNER);
            expanded.map_err(|source| PlanError::Variables {
                job: job.name().to_owned(),
                source,
            })?;
        }
        Ok(())
    }

    /// Returns the variables a job has besides the predefined ones, lowest precedence first.
    /// References among them are not replaced yet.
    ///
    /// `is_raw` says which of the file are taken literally.
    fn given_variables(
        &self,
        job: &JobDefinition,
        is_raw: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = JobVariable> {
        let of_file = job.variables.iter().map(move |(name, value)| JobVariable {
            raw: is_raw(name),
            ..JobVariable::public(name, value)
        });
        let given = self.context.given_for(None).into_iter();
        of_file.chain(given.map(|given| given.variable.clone()))
    }

    /// Returns the variables of a job, references among them replaced.
    fn job_variables(&self, job: &PlannedJob) -> Vec<JobVariable> {
        let definition = &job.definition;
        let raw = |name: &str| is_raw(definition, &self.variables, name);
        let mut own = self.context.job_variables(definition, job.id, None);
        own.extend(self.given_variables(definition, raw));
        // What all jobs see is copied as it is: only the few variables of its own are looked up.
        let mut variables = Vec::with_capacity(self.predefined.len() + own.len());
        variables.extend(self.predefined.iter().cloned());
        for variable in own.iter().cloned() {
            match self.predefined.position(&variable.key) {
                Some(at) => variables[at] = variable,
                None => variables.push(variable),
            }
        }
        if !variables.iter().any(has_references) {
            return variables;
        }
        // What is left to fail is a value that the commit's message makes far too long; then the
        // references stay for the runner.
        sort_and_expand(variables.clone(), Kept::FOR_RUNNER).unwrap_or(variables)
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
        self.places.get(name).copied()
    }

    /// Returns the places of the jobs whose artifacts the job at `index` fetches.
    pub fn dependencies(&self, index: usize) -> Vec<usize> {
        dependencies::of(self, index)
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

    fn leaves_artifacts(&self) -> bool {
        self.definition.artifacts.is_some()
    }
}
