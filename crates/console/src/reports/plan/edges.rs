use super::PlanStage;
use std::collections::HashMap;

/// What waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// A job waits for a job, by their numbers.
    Job {
        /// The job that is waited for.
        from: usize,
        /// The job that waits.
        to: usize,
    },
    /// All jobs of a stage wait for the one before.
    Stage {
        /// The stage that is waited for.
        from: usize,
        /// The stage that waits.
        to: usize,
    },
    /// A job waits for a stage and those before it.
    StageOfJob {
        /// The stage that is waited for.
        from: usize,
        /// The job that waits.
        to: usize,
    },
}

/// Returns what waits for what; jobs are numbered through all stages.
///
/// A stage waits for all stages before it, which the edge to the last of them says.
pub(super) fn edges(stages: &[PlanStage<'_>]) -> Vec<Edge> {
    let jobs = stages.iter().flat_map(|stage| &stage.jobs);
    let numbers: HashMap<&str, usize> = jobs
        .enumerate()
        .map(|(number, job)| (job.definition.name.as_str(), number))
        .collect();
    let mut edges = Vec::new();
    let mut to = 0;
    for (place, stage) in stages.iter().enumerate() {
        let before = place.checked_sub(1);
        let is_staged = stage.jobs.iter().all(|job| job.definition.needs.is_none());
        if let Some(from) = before
            && is_staged
        {
            edges.push(Edge::Stage { from, to: place });
        }
        for job in &stage.jobs {
            match (&job.definition.needs, before) {
                (Some(needs), _) => {
                    let needed = needs.iter().filter_map(|need| numbers.get(&*need.job));
                    edges.extend(needed.map(|&from| Edge::Job { from, to }));
                }
                (None, Some(from)) if !is_staged => edges.push(Edge::StageOfJob { from, to }),
                (None, _) => {}
            }
            to += 1;
        }
    }
    edges
}
