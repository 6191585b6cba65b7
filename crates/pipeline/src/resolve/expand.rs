use crate::config::{Job, Parallel};
use executor_core::job::{JobDefinition, VariableDefinition};
use std::collections::HashMap;

/// Which jobs `parallel` makes of which.
#[derive(Debug)]
pub(super) struct Expansion<'c> {
    jobs: &'c [Job],
    /// The names of the instances of each job, in the order of `jobs`.
    names: Vec<Vec<String>>,
    /// The jobs by the name in the file.
    by_name: HashMap<&'c str, usize>,
    /// The jobs by the name of one instance, where that is another name.
    by_instance: HashMap<String, usize>,
}

impl<'c> Expansion<'c> {
    pub(super) fn of(jobs: &'c [Job]) -> Self {
        let names: Vec<Vec<String>> = jobs.iter().map(instance_names).collect();
        let by_name = jobs.iter().enumerate();
        let by_name = by_name.map(|(index, job)| (&*job.name, index));
        let unfolded = (0..jobs.len()).filter(|&index| jobs[index].parallel.is_some());
        let by_instance = unfolded
            .flat_map(|index| names[index].iter().map(move |name| (name.clone(), index)))
            .collect();
        Self {
            jobs,
            by_name: by_name.collect(),
            by_instance,
            names,
        }
    }

    /// Returns the job that `name` means: by its own name or by that of one instance.
    pub(super) fn find(&self, name: &str) -> Option<&'c Job> {
        let index = self
            .by_name
            .get(name)
            .or_else(|| self.by_instance.get(name));
        index.map(|&index| &self.jobs[index])
    }

    /// Returns the instances that `name` means: all of a job, or the one of that name.
    pub(super) fn expand(&self, name: &str) -> Vec<String> {
        match self.by_name.get(name) {
            Some(&index) => self.names[index].clone(),
            None => vec![name.to_owned()],
        }
    }

    /// Returns the instances of the job at `index`, whose definition has the name of the file.
    pub(super) fn instances(&self, index: usize, definition: JobDefinition) -> Vec<JobDefinition> {
        let Some(parallel) = &self.jobs[index].parallel else {
            return vec![definition];
        };
        let names = &self.names[index];
        let total = u32::try_from(names.len()).unwrap_or(u32::MAX);
        (1..)
            .zip(names)
            .map(|(node_index, name)| {
                let mut instance = definition.clone();
                instance.name.clone_from(name);
                instance.parallel_total = Some(total);
                instance.node_index = Some(node_index);
                if let Parallel::Matrix(matrix) = parallel {
                    add_variables(&mut instance, &matrix.combinations[node_index as usize - 1]);
                }
                instance
            })
            .collect()
    }
}

fn instance_names(job: &Job) -> Vec<String> {
    match &job.parallel {
        None => vec![job.name.to_string()],
        Some(Parallel::Count(count)) => (1..=*count)
            .map(|index| format!("{} {index}/{count}", job.name))
            .collect(),
        Some(Parallel::Matrix(matrix)) => matrix
            .combinations
            .iter()
            .map(|combination| {
                let values: Vec<&str> = combination
                    .iter()
                    .map(|(_, value)| value.as_str())
                    .collect();
                format!("{}: [{}]", job.name, values.join(", "))
            })
            .collect(),
    }
}

/// Adds the variables of one matrix combination; they win over the job's own.
fn add_variables(job: &mut JobDefinition, combination: &[(String, String)]) {
    let own = job.job_variables.get_or_insert_default();
    for (name, value) in combination {
        own.insert(name.clone(), VariableDefinition::Plain(value.clone()));
        job.variables.insert(name.clone(), value.clone());
    }
}
