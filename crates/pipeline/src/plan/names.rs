use super::PlanError;
use crate::context::group_name;
use crate::create::{CreatedJob, Creation};
use crate::selector::{self, NamedJob, SelectedJobs};
use std::collections::HashMap;

/// The jobs of a pipeline by name.
pub(super) struct Names<'p> {
    creation: &'p Creation,
    /// Each job by its expanded name.
    jobs: HashMap<&'p str, usize>,
    /// The instances of each `parallel` job, by their common name.
    groups: HashMap<&'p str, Vec<usize>>,
}

impl<'p> Names<'p> {
    pub(super) fn of(creation: &'p Creation) -> Self {
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, job) in included(creation) {
            if job.definition.parallel_total.is_some() {
                groups.entry(group_name(job.name())).or_default().push(at);
            }
        }
        let jobs = included(creation).map(|(at, job)| (job.name(), at));
        Self {
            creation,
            jobs: jobs.collect(),
            groups,
        }
    }

    /// Returns the index of the job of exactly this name.
    pub(super) fn job(&self, name: &str) -> Option<usize> {
        self.jobs.get(name).copied()
    }

    /// Returns the jobs that `text` selects.
    pub(super) fn find(&self, text: &str) -> Result<SelectedJobs, PlanError> {
        let job = self.jobs.get(text);
        let group = self.groups.get(text);
        if job.is_some() || group.is_some() {
            let indices = job.into_iter().chain(group.into_iter().flatten());
            return Ok(SelectedJobs {
                indices: indices.copied().collect(),
                is_named: true,
            });
        }
        let (at, jobs): (Vec<_>, Vec<_>) = included(self.creation)
            .map(|(at, job)| (at, job.named()))
            .unzip();
        let selected = selector::find(text, &jobs).map_err(|_| self.missing(text))?;
        let indices = selected.indices.into_iter().map(|place| at[place]);
        Ok(SelectedJobs {
            indices: indices.collect(),
            ..selected
        })
    }

    /// Returns why `text` selects no job of the pipeline.
    fn missing(&self, text: &str) -> PlanError {
        let jobs = &self.creation.jobs;
        let named: Vec<NamedJob<'_>> = jobs.iter().map(CreatedJob::named).collect();
        let selected = match selector::find(text, &named) {
            Ok(selected) => selected,
            Err(unknown) => return unknown.into(),
        };
        let left_out = selected.indices.first().map(|&at| &jobs[at]);
        left_out.map_or_else(
            || selector::NoMatch::job(text, jobs.iter().map(CreatedJob::name)).into(),
            |job| PlanError::LeftOut {
                name: if selected.is_named { text } else { job.name() }.to_owned(),
                by: job.left_out_by(),
            },
        )
    }
}

/// Returns the jobs of a pipeline with their indices.
pub(super) fn included(creation: &Creation) -> impl Iterator<Item = (usize, &CreatedJob)> {
    let jobs = creation.jobs.iter().enumerate();
    jobs.filter(|(_, job)| job.is_included)
}
