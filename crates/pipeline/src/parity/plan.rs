use super::{Finding, check_job};
use crate::Plan;
use indexmap::IndexMap;
use std::fmt;

/// A keyword that a local run does not honour, and the jobs of a plan that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFinding {
    /// The keyword, and what happens.
    pub finding: Finding,
    /// The names of the jobs, in the order of the plan; never empty.
    pub jobs: Vec<String>,
}

impl fmt::Display for PlanFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { keyword, text, .. } = self.finding;
        match self.jobs.as_slice() {
            [job] => write!(f, "`{keyword}` of `{job}`: {text}"),
            jobs => write!(f, "`{keyword}` of {} jobs: {text}", jobs.len()),
        }
    }
}

/// Returns what a local run does not honour of the jobs of a plan that will start, each keyword
/// once, in the order it is met.
///
/// A manual job that nobody asked for does not start, so nothing is said of it.
pub fn check_plan(plan: &Plan) -> Vec<PlanFinding> {
    let mut found: IndexMap<&'static str, PlanFinding> = IndexMap::new();
    for job in plan.jobs() {
        if !job.will_start() {
            continue;
        }
        for finding in check_job(&job.definition) {
            let jobs = Vec::new();
            let of_keyword = found.entry(finding.keyword);
            let of_keyword = of_keyword.or_insert(PlanFinding { finding, jobs });
            of_keyword.jobs.push(job.name().to_owned());
        }
    }
    found.into_values().collect()
}
