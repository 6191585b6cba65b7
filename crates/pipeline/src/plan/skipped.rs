use super::PlannedJob;
use crate::create::Creation;
use std::collections::{BTreeSet, HashMap};

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

/// Returns the skipped jobs with the jobs that need them.
pub(super) fn of(
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
