use super::{Plan, PlannedJob};
use crate::context::{AncestorPipeline, expand};
use crate::create::{Creation, JobLayers};
use executor_core::job::{CrossNeed, Dependency, JobId, PipelineId};
use std::collections::HashMap;
use std::sync::Arc;

impl Plan {
    /// Returns the pipelines whose artifacts a child of this one can fetch: this one and its
    /// ancestors.
    pub fn ancestors_of_children(&self) -> Vec<AncestorPipeline> {
        let jobs = self.jobs.iter().map(|job| (job.name().to_owned(), job.id));
        let jobs: Arc<HashMap<String, JobId>> = Arc::new(jobs.collect());
        let own = AncestorPipeline {
            id: self.id(),
            jobs,
        };
        let ancestors = self.context.ancestors.iter().cloned();
        std::iter::once(own).chain(ancestors).collect()
    }
}

/// Returns the jobs of ancestor pipelines whose artifacts a job fetches.
///
/// # Errors
///
/// When it names a pipeline that is not an ancestor, or an unknown job of one.
pub(super) fn dependencies(plan: &Plan, job: &PlannedJob) -> Result<Vec<Dependency>, String> {
    let needs = job.definition.needs_cross.iter().flatten();
    let mut found = Vec::new();
    let layers = plan.layers();
    let job_layers = Creation::job_layers(&job.created, &layers);
    for need in needs {
        if let (Some(pipeline), Some(name)) = (&need.pipeline, &need.job) {
            let dependency = find(plan, &job_layers, pipeline, name)?;
            found.extend(is_fetched(need).then_some(dependency));
        }
    }
    Ok(found)
}

fn is_fetched(need: &CrossNeed) -> bool {
    need.artifacts.unwrap_or(true)
}

fn find(
    plan: &Plan,
    job_layers: &JobLayers<'_>,
    pipeline: &str,
    job: &str,
) -> Result<Dependency, String> {
    let value = |name: &str| job_layers.find(name).map(|found| found.value);
    let pipeline = expand(pipeline, value);
    let id = pipeline.trim().parse().ok().map(PipelineId);
    let mut ancestors = plan.context.ancestors.iter();
    let ancestor = ancestors.find(|ancestor| Some(ancestor.id) == id);
    let Some(ancestor) = ancestor else {
        return Err(format!(
            "`needs:pipeline`: {pipeline:?} is not an ancestor of this pipeline"
        ));
    };
    let Some(&id) = ancestor.jobs.get(job) else {
        return Err(format!(
            "`needs:pipeline`: the pipeline {pipeline} has no job {job:?}"
        ));
    };
    Ok(Dependency {
        id,
        name: job.to_owned(),
        ..Dependency::default()
    })
}
