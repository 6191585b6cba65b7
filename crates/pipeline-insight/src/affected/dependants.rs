use super::Cause;
use pipeline::create::{CreatedJob, Creation};
use std::collections::{HashMap, VecDeque};

/// The jobs that get results of others. A job without `needs` and `dependencies` gets the artifacts
/// of all earlier stages.
#[derive(Debug)]
pub(super) struct Dependants {
    /// The indices of the jobs that name a job, by the index of that job.
    by_name: Vec<Vec<usize>>,
    /// The index of each job's stage.
    stages: Vec<usize>,
    /// The indices of the jobs that get all artifacts, by stage.
    takers: Vec<Vec<usize>>,
}

impl Dependants {
    pub(super) fn of(creation: &Creation, jobs: &[&CreatedJob]) -> Self {
        let names = jobs.iter().enumerate();
        let names: HashMap<&str, usize> = names.map(|(at, job)| (job.name(), at)).collect();
        let indices = creation.stage_indices();
        let stage = |job: &&CreatedJob| indices.get(&*job.definition.stage).copied().unwrap_or(0);
        let stages: Vec<usize> = jobs.iter().map(stage).collect();
        let mut by_name = vec![Vec::new(); jobs.len()];
        let mut takers = vec![Vec::new(); creation.stages.len().max(1)];
        for (at, job) in jobs.iter().enumerate() {
            let job = &job.definition;
            let needs = job.needs.iter().flatten().map(|need| &need.job);
            let all = needs.chain(job.dependencies.iter().flatten());
            for other in all.filter_map(|name| names.get(name.as_str())) {
                by_name[*other].push(at);
            }
            if job.needs.is_none() && job.dependencies.is_none() {
                takers[stages[at]].push(at);
            }
        }
        Self {
            by_name,
            stages,
            takers,
        }
    }

    /// Adds the jobs that depend on an affected job, visiting each job and each need once.
    pub(super) fn spread(&self, jobs: &[&CreatedJob], causes: &mut [Option<Cause>]) {
        let affected = (0..jobs.len()).filter(|&at| causes[at].is_some());
        let mut open: VecDeque<usize> = affected.collect();
        // The takers from this stage on are already affected.
        let mut done_from = self.takers.len();
        while let Some(at) = open.pop_front() {
            let mut behind = self.by_name[at].clone();
            if jobs[at].definition.artifacts.is_some() {
                let later = self.stages[at] + 1;
                let new = self.takers.get(later..done_from);
                behind.extend(new.into_iter().flatten().flatten());
                done_from = done_from.min(later);
            }
            for dependant in behind {
                if causes[dependant].is_none() {
                    let job = jobs[at].name().to_owned();
                    causes[dependant] = Some(Cause::Behind { job });
                    open.push_back(dependant);
                }
            }
        }
    }
}
