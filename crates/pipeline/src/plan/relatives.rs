use super::{Plan, PlannedJob};
use crate::context::{Relative, expand};
use crate::create::{Creation, JobLayers};
use executor_core::job::{CrossNeed, Dependency, JobId, PipelineId};
use std::collections::HashMap;
use std::sync::Arc;

impl Plan {
    /// Returns the pipelines whose artifacts a child of this one can fetch: this one, and those above.
    pub fn relatives_of_children(&self) -> Vec<Relative> {
        let jobs = self.jobs.iter().map(|job| (job.name().to_owned(), job.id));
        let jobs: Arc<HashMap<String, JobId>> = Arc::new(jobs.collect());
        let own = Relative {
            id: self.id(),
            jobs,
        };
        let above = self.context.relatives.iter().cloned();
        std::iter::once(own).chain(above).collect()
    }
}

/// Returns the jobs of pipelines above whose artifacts a job fetches.
///
/// # Errors
///
/// When it names a pipeline or a job that is not above.
pub(super) fn dependencies(plan: &Plan, job: &PlannedJob) -> Result<Vec<Dependency>, String> {
    let needs = job.definition.needs_cross.iter().flatten();
    let mut found = Vec::new();
    let layers = plan.layers();
    let sight = Creation::sight(&job.created, &layers);
    for need in needs {
        if let (Some(pipeline), Some(name)) = (&need.pipeline, &need.job) {
            let dependency = find(plan, &sight, pipeline, name)?;
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
    sight: &JobLayers<'_>,
    pipeline: &str,
    job: &str,
) -> Result<Dependency, String> {
    let value = |name: &str| sight.find(name).map(|found| found.value);
    let pipeline = expand(pipeline, value);
    let id = pipeline.trim().parse().ok().map(PipelineId);
    let mut relatives = plan.context.relatives.iter();
    let relative = relatives.find(|relative| Some(relative.id) == id);
    let Some(relative) = relative else {
        return Err(format!(
            "`needs:pipeline`: {pipeline:?} is no pipeline above this one"
        ));
    };
    let Some(&id) = relative.jobs.get(job) else {
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
