use super::conditions::{Conditions, Shared};
use super::expand::{Expansion, matrix_values};
use super::lower::lower;
use super::needs::{NeedsExpansion, depend_on_matrix};
use super::{ResolvedJob, ResolvedNeeds};
use crate::config::{Config, Job};
use executor_core::job::{JobDefinition, VariableDefinition};
use std::sync::Arc;

/// Returns all jobs of a pipeline, each instance of `parallel` as a job.
pub(super) fn all(
    config: &Config,
    expansion: &Expansion<'_>,
    needs: &mut NeedsExpansion<'_>,
) -> Vec<ResolvedJob> {
    let mut jobs = Vec::with_capacity(expansion.instances().len());
    // The instances of a job are consecutive, except those that replaced another job's.
    let mut last: Option<(usize, Family)> = None;
    let shared = Shared::of(config);
    for (name, instance) in expansion.instances() {
        let job = &config.jobs[instance.job];
        let family = match &mut last {
            Some((at, family)) if *at == instance.job => family,
            _ => {
                let family = Family::of(job, config, expansion, needs, &shared);
                &mut last.insert((instance.job, family)).1
            }
        };
        let values = matrix_values(job, instance.index);
        if family.needs_differ {
            family.set_needs(job, values, needs);
        }
        let Some(total) = expansion.total(instance.job) else {
            jobs.push(family.only_instance());
            continue;
        };
        let copied = family.definition.needs.as_ref().map_or(0, Vec::len);
        let mut definition = family.definition.clone();
        if !family.needs_differ && !needs.charge(copied) {
            definition.needs = Some(Vec::new());
        }
        name.clone_into(&mut definition.name);
        definition.parallel_total = u32::try_from(total).ok();
        definition.node_index = u32::try_from(instance.index + 1).ok();
        add_variables(&mut definition, values);
        jobs.push(ResolvedJob {
            definition: Arc::new(definition),
            matrix: values.into(),
            ..family.conditions.template.clone()
        });
    }
    jobs
}

/// The common parts of the instances of one job.
#[derive(Debug)]
struct Family {
    definition: JobDefinition,
    conditions: Conditions,
    /// Whether the instances have different needs.
    needs_differ: bool,
}

impl Family {
    fn of(
        job: &Job,
        config: &Config,
        expansion: &Expansion<'_>,
        needs: &mut NeedsExpansion<'_>,
        shared: &Shared,
    ) -> Self {
        let mut family = Self {
            definition: lower(job, config, expansion),
            conditions: Conditions::of(job, shared),
            needs_differ: depend_on_matrix(job),
        };
        family.conditions.write(&mut family.definition);
        family.set_needs(job, &[], needs);
        family
    }

    /// Returns the only job of a family.
    fn only_instance(&mut self) -> ResolvedJob {
        ResolvedJob {
            definition: Arc::new(std::mem::take(&mut self.definition)),
            ..self.conditions.template.clone()
        }
    }

    /// Sets the needs of the job and of its rules.
    fn set_needs(
        &mut self,
        job: &Job,
        values: &[(String, String)],
        expansion: &mut NeedsExpansion<'_>,
    ) {
        let rules = job.rules.entries();
        self.conditions.template.rule_needs = expansion.expand_rules(rules, values);
        let Some(entries) = &job.needs else {
            return;
        };
        let ResolvedNeeds { needs, cross } = expansion.expand(entries, values);
        self.definition.needs_cross = (!cross.is_empty()).then_some(cross);
        let mirrors_only = needs.is_empty() && job.mirrored_pipeline().is_some();
        self.definition.needs = (!mirrors_only).then_some(needs);
    }
}

/// Adds the variables of one matrix combination, which override those of the job.
fn add_variables(job: &mut JobDefinition, combination: &[(String, String)]) {
    let own = job.job_variables.get_or_insert_default();
    for (name, value) in combination {
        own.insert(name.clone(), VariableDefinition::Plain(value.clone()));
    }
}
