use super::{Plan, PlannedJob};
use std::collections::HashSet;

impl Plan {
    /// Returns the indices of the jobs whose artifacts the job at `index` fetches.
    ///
    /// With `needs` these are the needed jobs with `artifacts: true`, otherwise the jobs of all
    /// earlier stages; `dependencies` narrows both. Jobs without artifacts are not listed.
    pub fn dependencies(&self, index: usize) -> Vec<usize> {
        let job = &self.jobs[index];
        match (&job.definition.needs, &job.definition.dependencies) {
            (Some(_), _) => of_needs(self, job),
            (None, Some(names)) => of_names(self, job, names),
            (None, None) => producers_before(self, job).to_vec(),
        }
    }
}

fn of_needs(plan: &Plan, job: &PlannedJob) -> Vec<usize> {
    let named = job.definition.dependencies.as_ref();
    let named: Option<HashSet<&String>> = named.map(|names| names.iter().collect());
    let needs = job.definition.needs.iter().flatten();
    let fetched = needs.filter(|need| {
        need.artifacts && named.as_ref().is_none_or(|named| named.contains(&need.job))
    });
    let fetched = fetched.filter_map(|need| plan.position(&need.job));
    fetched
        .filter(|&at| plan.jobs[at].has_artifacts())
        .collect()
}

fn of_names(plan: &Plan, job: &PlannedJob, names: &[String]) -> Vec<usize> {
    let before = producers_before(plan, job);
    let indices = names.iter().filter_map(|name| plan.position(name));
    let mut found: Vec<usize> = indices
        .filter(|at| before.binary_search(at).is_ok())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the jobs of earlier stages that have artifacts.
fn producers_before<'p>(plan: &'p Plan, job: &PlannedJob) -> &'p [usize] {
    let is_earlier = |&at: &usize| plan.jobs[at].stage_index < job.stage_index;
    let end = plan.producers.partition_point(is_earlier);
    &plan.producers[..end]
}
