//! The names that are expanded when a pipeline is created: tags for the runner, and tags and
//! environments for display. In a generated file, names of jobs and stages are masked.

use super::{CreatedJob, Creation, JobLayers, LayeredVariable, Layers};
use crate::context::expand_existing;
use crate::expression::MASKED;
use executor_core::job::JobDefinition;
use executor_core::variable::{JobVariable, without_secrets};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl CreatedJob {
    /// Expands its tags, and sets its definition for display.
    pub(super) fn expand_names(&mut self, layers: &Layers<'_>) {
        let refers = |name: &String| name.contains(['$', '%']);
        let tags = self.definition.tags.iter().flatten();
        let environment = self.definition.environment.iter();
        let mut names = tags.chain(environment.map(|environment| &environment.name));
        if !names.any(refers) {
            self.shown = Arc::clone(&self.definition);
            return;
        }
        let job_layers = Creation::job_layers(self, layers);
        let mut definition = (*self.definition).clone();
        expand_tags(&mut definition, &job_layers, |variable| variable.value);
        let mut shown = (*self.definition).clone();
        expand_tags(&mut shown, &job_layers, shown_value);
        if let (Some(environment), Some(name)) =
            (&mut shown.environment, job_layers.shown_environment())
        {
            environment.name = name;
        }
        self.definition = Arc::new(definition);
        self.shown = Arc::new(shown);
    }
}

impl Creation {
    /// Returns the same as [`complete`](Self::complete) for display: its environment's name is
    /// expanded, and secrets in names are masked.
    pub fn shown(&self, job: &CreatedJob) -> JobDefinition {
        self.completed(job, &job.shown)
    }

    /// Masks secrets in the names of jobs and stages, which stay unique: a file that a job generated may have
    /// them there.
    pub fn mask_names(&mut self, variables: &[JobVariable]) {
        let jobs = masked_names(self.jobs.iter().map(CreatedJob::name), variables);
        let stages = masked_names(self.stages.iter().map(String::as_str), variables);
        if jobs.is_empty() && stages.is_empty() {
            return;
        }
        for stage in &mut self.stages {
            rename(stage, &stages);
        }
        for job in &mut self.jobs {
            let matrix = job.resolved.matrix.iter();
            let matrix =
                matrix.map(|(key, value)| (key.clone(), without_secrets(value, variables)));
            job.resolved.matrix = matrix.collect();
            for definition in [&mut job.definition, &mut job.shown] {
                let definition = Arc::make_mut(definition);
                rename(&mut definition.name, &jobs);
                rename(&mut definition.stage, &stages);
                let needs = definition.needs.iter_mut().flatten();
                let dependencies = definition.dependencies.iter_mut().flatten();
                let others = needs.map(|need| &mut need.job).chain(dependencies);
                others.for_each(|name| rename(name, &jobs));
            }
        }
    }
}

/// Returns the names that contain secrets, each with a masked one that no other name has.
fn masked_names<'n>(
    names: impl Iterator<Item = &'n str>,
    variables: &[JobVariable],
) -> HashMap<String, String> {
    let masked = names.map(|name| (name, without_secrets(name, variables)));
    let (masked, same): (Vec<_>, Vec<_>) = masked.partition(|(name, masked)| name != masked);
    let mut taken: HashSet<String> = same.into_iter().map(|(_, name)| name).collect();
    let unique = masked.into_iter().map(|(name, masked)| {
        let numbered = (2..).map(|number| format!("{masked} {number}"));
        let mut free = std::iter::once(masked.clone()).chain(numbered);
        let unique = free.find(|name| taken.insert(name.clone()));
        (name.to_owned(), unique.unwrap_or(masked))
    });
    unique.collect()
}

fn rename(name: &mut String, names: &HashMap<String, String>) {
    if let Some(new) = names.get(name) {
        name.clone_from(new);
    }
}

/// Expands tags in one pass; references to unknown variables stay.
fn expand_tags(
    definition: &mut JobDefinition,
    job_layers: &JobLayers<'_>,
    value: for<'v> fn(LayeredVariable<'v>) -> &'v str,
) {
    for tag in definition.tags.iter_mut().flatten() {
        *tag = expand_existing(tag, |name| job_layers.find(name).map(value)).into_owned();
    }
}

fn shown_value(variable: LayeredVariable<'_>) -> &str {
    if variable.is_secret() {
        MASKED
    } else {
        variable.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::ResolvedJob;
    use executor_core::job::Need;

    #[test]
    fn masked_names_stay_unique_and_connected() {
        let job = |name: &str, need: &str| {
            let definition = Arc::new(JobDefinition {
                name: name.into(),
                stage: "of-s3cret".into(),
                needs: Some(vec![Need::of(need)]),
                dependencies: Some(vec![need.into()]),
                ..JobDefinition::default()
            });
            CreatedJob {
                resolved: ResolvedJob::default(),
                definition: Arc::clone(&definition),
                shown: definition,
                is_included: true,
                rule: None,
            }
        };
        let mut creation = Creation {
            stages: vec!["of-s3cret".into()],
            jobs: vec![job("a-s3cret", "plain"), job("a-S3CRET", "a-s3cret")],
            ..Creation::default()
        };
        creation.mask_names(&[JobVariable::masked("TOKEN", "s3cret")]);
        let [first, second] = &*creation.jobs else {
            panic!("two jobs");
        };
        assert_eq!(creation.stages, ["of-[MASKED]"]);
        assert_eq!(first.definition.stage, "of-[MASKED]");
        assert_eq!(first.name(), "a-[MASKED]");
        assert_eq!(first.definition.needs, Some(vec![Need::of("plain")]));
        assert_eq!(second.name(), "a-[MASKED] 2");
        assert_eq!(second.definition.needs, Some(vec![Need::of("a-[MASKED]")]));
        assert_eq!(second.shown.dependencies, Some(vec!["a-[MASKED]".into()]));
    }
}
