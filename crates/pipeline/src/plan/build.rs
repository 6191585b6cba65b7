use super::{Plan, PlanError, PlannedJob, Selection, SkippedJob, of_pipeline};
use crate::context::PipelineContext;
use crate::create::{CreatedJob, Creation};
use crate::dialect::Dialect;
use crate::slug::path_slug;
use executor_core::job::JobId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

impl Plan {
    /// Plans the jobs of a pipeline that `selection` selects.
    ///
    /// # Errors
    ///
    /// When the selection names a job or stage that does not exist, when rules exclude a named job,
    /// when the pipeline was not created because of a mistake, or when it was not created and jobs
    /// are named.
    pub fn new(
        creation: &Creation,
        context: PipelineContext,
        selection: &Selection,
    ) -> Result<Self, PlanError> {
        let chosen = selection.choose(creation)?;
        let stages = creation.stage_indices();
        let stage_of = |job: &CreatedJob| stages.get(&*job.definition.stage).copied().unwrap_or(0);
        let mut order: Vec<(usize, usize)> = chosen
            .jobs
            .iter()
            .map(|&index| (stage_of(&creation.jobs[index]), index))
            .collect();
        order.sort_unstable();

        let name = |index: usize| creation.jobs[index].name().to_owned();
        let indices = order.iter().enumerate();
        let indices: HashMap<String, usize> =
            indices.map(|(at, &(_, index))| (name(index), at)).collect();
        let mut jobs = Vec::with_capacity(order.len());
        for (id, &(stage_index, index)) in (context.first_job_id..).map(JobId).zip(&order) {
            let created = &creation.jobs[index];
            let needs = created.definition.needs.as_ref().map(|needs| {
                let found = needs.iter().filter_map(|need| indices.get(&need.job));
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
        let producers = (0..jobs.len()).filter(|&at| jobs[at].has_artifacts());
        let producers = producers.collect();
        let predefined = of_pipeline(creation.name.as_deref(), &context);
        let skipped = skipped_jobs(creation, &chosen.skipped, &jobs);
        Ok(Self {
            name: creation.shown_name.clone(),
            refusal: creation.refusal.clone(),
            stages: creation.stages.clone(),
            jobs,
            skipped,
            indices,
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
}

/// Returns the skipped jobs with the jobs that need them.
fn skipped_jobs(
    creation: &Creation,
    skipped: &BTreeSet<usize>,
    jobs: &[PlannedJob],
) -> Vec<SkippedJob> {
    let mut found: Vec<SkippedJob> = Vec::with_capacity(skipped.len());
    let mut indices: HashMap<&str, usize> = HashMap::new();
    for &at in skipped {
        let job = &creation.jobs[at];
        indices.insert(job.name(), found.len());
        found.push(SkippedJob {
            name: job.name().to_owned(),
            needed_by: Vec::new(),
            leaves_artifacts: job.definition.artifacts.is_some(),
        });
    }
    if found.is_empty() {
        return found;
    }
    for job in jobs {
        let needs = job.definition.needs.iter().flatten();
        let needs = needs.map(|need| &need.job);
        let named = needs.chain(job.definition.dependencies.iter().flatten());
        let without: BTreeSet<usize> = named
            .filter_map(|name| indices.get(name.as_str()).copied())
            .collect();
        for at in without {
            found[at].needed_by.push(job.name().to_owned());
        }
    }
    found
}
