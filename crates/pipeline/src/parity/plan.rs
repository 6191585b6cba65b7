use super::{Deviation, check_job};
use crate::Plan;
use indexmap::IndexMap;
use std::fmt;

/// A keyword that a local run does not support, and the jobs of a plan that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanDeviation {
    /// The keyword and its treatment.
    pub deviation: Deviation,
    /// The names of the jobs, in the order of the plan; never empty.
    pub jobs: Vec<String>,
}

impl fmt::Display for PlanDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deviation { keyword, text, .. } = self.deviation;
        match self.jobs.as_slice() {
            [job] => write!(f, "`{keyword}` of `{job}`: {text}"),
            jobs => write!(f, "`{keyword}` of {} jobs: {text}", jobs.len()),
        }
    }
}

/// Returns the unsupported keywords of the jobs of a plan that will start, each keyword once, in
/// the order of its first use.
///
/// A manual job that was not selected does not start, so it is not checked.
pub fn check_plan(plan: &Plan) -> Vec<PlanDeviation> {
    let mut found: IndexMap<&'static str, PlanDeviation> = IndexMap::new();
    for job in plan.jobs() {
        if !job.will_start() {
            continue;
        }
        for deviation in check_job(&job.definition) {
            let jobs = Vec::new();
            let of_keyword = found.entry(deviation.keyword);
            let of_keyword = of_keyword.or_insert(PlanDeviation { deviation, jobs });
            of_keyword.jobs.push(job.name().to_owned());
        }
    }
    found.into_values().collect()
}
