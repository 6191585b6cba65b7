use crate::config::{Config, Job, JobNeed, Matrix, Parallel};
use indexmap::IndexMap;
use std::borrow::Cow;
use std::collections::HashMap;
use yaml::diagnostic::{Diagnostic, Diagnostics};

/// The maximum number of jobs of a pipeline, each instance counted.
const MOST_JOBS: usize = 100_000;

/// The instances that each job expands to.
#[derive(Debug)]
pub(super) struct Expansion<'c> {
    jobs: &'c [Job],
    /// The jobs by the name in the file.
    by_name: HashMap<&'c str, usize>,
    /// All instances by name, in pipeline order; a later one replaces an earlier one of the same
    /// name.
    instances: IndexMap<Cow<'c, str>, Instance>,
    /// The names of the instances of the jobs that have `parallel`.
    names: HashMap<usize, Vec<String>>,
}

/// One instance of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instance {
    /// The index of the job in the file.
    pub(super) job: usize,
    /// The index of the instance, from 0.
    pub(super) index: usize,
}

impl<'c> Expansion<'c> {
    /// Names all instances; returns nothing when there are too many.
    pub(super) fn of(config: &'c Config, diagnostics: &mut Diagnostics) -> Option<Self> {
        let jobs = &config.jobs;
        let mut count = 0_usize;
        for job in jobs {
            count = count.saturating_add(instance_count(job));
            if count > MOST_JOBS {
                let message = format!("the pipeline has more than {MOST_JOBS} jobs");
                let error = Diagnostic::error("too-many-jobs", message).at(job.span);
                diagnostics.push(error);
                return None;
            }
        }
        let by_name = jobs.iter().enumerate();
        let mut expansion = Self {
            jobs,
            by_name: by_name.map(|(at, job)| (&*job.name, at)).collect(),
            instances: IndexMap::with_capacity(count),
            names: HashMap::new(),
        };
        for (at, job) in jobs.iter().enumerate() {
            let Some(parallel) = &job.parallel else {
                let instance = Instance { job: at, index: 0 };
                expansion
                    .instances
                    .insert(Cow::Borrowed(&*job.name), instance);
                continue;
            };
            let names = instance_names(job, parallel);
            for (index, name) in names.iter().enumerate() {
                let instance = Instance { job: at, index };
                expansion
                    .instances
                    .insert(Cow::Owned(name.clone()), instance);
            }
            expansion.names.insert(at, names);
        }
        Some(expansion)
    }

    /// Returns all instances with their names, in pipeline order.
    pub(super) fn instances(&self) -> impl ExactSizeIterator<Item = (&str, Instance)> {
        let all = self.instances.iter();
        all.map(|(name, instance)| (name.as_ref(), *instance))
    }

    /// Returns the index of the instance of this name.
    pub(super) fn index_of(&self, name: &str) -> Option<usize> {
        self.instances.get_index_of(name)
    }

    /// Returns the job with this name or with an instance of this name.
    pub(super) fn find(&self, name: &str) -> Option<&'c Job> {
        let by_instance = || self.instances.get(name).map(|instance| instance.job);
        let at = self.by_name.get(name).copied().or_else(by_instance);
        at.map(|at| &self.jobs[at])
    }

    /// Returns the names of all instances of the job `name`, or `name` itself if it names an
    /// instance.
    pub(super) fn expand<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n str> {
        let at = self.by_name.get(name);
        let names = at.and_then(|at| self.names.get(at));
        let alone = names.is_none().then_some(name);
        names.into_iter().flatten().map(String::as_str).chain(alone)
    }

    /// Returns the number of instances of the job at `at`.
    pub(super) fn total(&self, at: usize) -> Option<usize> {
        self.names.get(&at).map(Vec::len)
    }
}

/// Returns the matrix values of one instance.
pub(super) fn matrix_values(job: &Job, index: usize) -> &[(String, String)] {
    match &job.parallel {
        Some(Parallel::Matrix(matrix)) => matrix
            .combinations
            .get(index)
            .map_or(&[][..], Vec::as_slice),
        Some(Parallel::Count(_)) | None => &[],
    }
}

/// Returns the names of the instances that a need selects.
pub(super) fn chosen_names(need: &JobNeed, matrix: &Matrix) -> impl Iterator<Item = String> {
    let name = &need.need.job;
    let combinations = matrix.combinations.iter();
    combinations.map(move |combination| combination_name(name, combination))
}

fn instance_count(job: &Job) -> usize {
    match &job.parallel {
        None => 1,
        Some(Parallel::Count(count)) => usize::try_from(*count).unwrap_or(usize::MAX),
        Some(Parallel::Matrix(matrix)) => matrix.combinations.len(),
    }
}

fn instance_names(job: &Job, parallel: &Parallel) -> Vec<String> {
    match parallel {
        Parallel::Count(count) => (1..=*count)
            .map(|index| format!("{} {index}/{count}", job.name))
            .collect(),
        Parallel::Matrix(matrix) => matrix
            .combinations
            .iter()
            .map(|combination| combination_name(&job.name, combination))
            .collect(),
    }
}

/// Returns the name of the instance with these matrix values.
pub(super) fn combination_name(job: &str, combination: &[(String, String)]) -> String {
    let values: Vec<&str> = combination
        .iter()
        .map(|(_, value)| value.as_str())
        .collect();
    format!("{job}: [{}]", values.join(", "))
}
