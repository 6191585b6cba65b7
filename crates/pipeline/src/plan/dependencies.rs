use super::PlannedJob;

/// Returns the places of the jobs whose artifacts the job at `index` fetches.
///
/// With `needs` these are the needed jobs with `artifacts: true`, otherwise the jobs of all earlier
/// stages; `dependencies` narrows both. Jobs that leave nothing behind are not listed.
pub(super) fn of(jobs: &[PlannedJob], index: usize) -> Vec<usize> {
    let job = &jobs[index];
    let is_wanted = |other: &PlannedJob| {
        let named = job.definition.dependencies.as_ref();
        named.is_none_or(|names| names.iter().any(|name| name == other.name()))
    };
    let leaves_something = |other: &PlannedJob| other.definition.artifacts.is_some();
    let fetched = |&at: &usize| leaves_something(&jobs[at]) && is_wanted(&jobs[at]);
    match &job.needs {
        None => (0..jobs.len())
            .take_while(|&at| jobs[at].stage_index < job.stage_index)
            .filter(fetched)
            .collect(),
        Some(needs) => needs
            .iter()
            .copied()
            .filter(|&at| has_artifacts(job, jobs[at].name()))
            .filter(fetched)
            .collect(),
    }
}

fn has_artifacts(job: &PlannedJob, needed: &str) -> bool {
    let mut needs = job.definition.needs.iter().flatten();
    needs.any(|need| need.job == needed && need.artifacts)
}
