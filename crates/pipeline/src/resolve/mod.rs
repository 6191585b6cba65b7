//! From keywords to jobs: defaults and global variables applied, `parallel` unfolded, every name
//! of a stage or job checked.

mod check;
mod expand;
mod job;
mod lower;
mod on_stop;

pub use job::{ResolvedJob, ResolvedNeeds};

use crate::config::{Config, Job, PolicyKeyword, Variables, Workflow};
use crate::diagnostic::Diagnostics;
use executor_core::job::JobDefinition;
use expand::Expansion;
use std::collections::HashMap;
use std::sync::Arc;

/// A pipeline whose jobs stand on their own: nothing is inherited or referred to any more.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedPipeline {
    /// The stages in order, `.pre` and `.post` included.
    pub stages: Vec<String>,
    /// The jobs in the order of the file.
    pub jobs: Vec<ResolvedJob>,
    /// The global variables.
    pub variables: Variables,
    /// When there is a pipeline, and what it is called.
    pub workflow: Workflow,
}

impl ResolvedPipeline {
    /// Returns the job of this expanded name.
    pub fn job(&self, name: &str) -> Option<&JobDefinition> {
        let mut definitions = self.jobs.iter().map(|job| &job.definition);
        definitions.find(|job| job.name == name).map(AsRef::as_ref)
    }

    /// Returns the places of all stages by name.
    pub fn stage_indices(&self) -> HashMap<&str, usize> {
        stage_indices(&self.stages)
    }
}

/// Returns the places of stages by name; the first of a name counts.
fn stage_indices(stages: &[String]) -> HashMap<&str, usize> {
    let places = stages.iter().enumerate().rev();
    places.map(|(place, name)| (name.as_str(), place)).collect()
}

/// Resolves what was read; errors are added to `diagnostics`.
pub(crate) fn resolve(config: &Config, diagnostics: &mut Diagnostics) -> ResolvedPipeline {
    let expansion = Expansion::of(&config.jobs);
    let mut jobs = Vec::with_capacity(config.jobs.len());
    for (index, job) in config.jobs.iter().enumerate() {
        let definition = lower::lower(job, config, &expansion);
        let instances = expansion.instances(index, definition).into_iter();
        jobs.extend(instances.map(|definition| with_conditions(job, definition)));
    }
    check::check(config, &expansion, diagnostics);
    on_stop::check(config, &expansion, diagnostics);
    ResolvedPipeline {
        stages: config.stages.clone(),
        jobs,
        variables: config.variables.clone(),
        workflow: config.workflow.clone(),
    }
}

/// Adds what decides whether a pipeline has the job.
fn with_conditions(job: &Job, definition: JobDefinition) -> ResolvedJob {
    let policy =
        |keyword: Option<&PolicyKeyword>| keyword.map(|keyword| Arc::new(keyword.policy.clone()));
    ResolvedJob {
        definition: Arc::new(definition),
        name_in_file: Arc::clone(&job.name),
        span: Some(job.span),
        kind: job.kind,
        rules: job.rules.clone(),
        rule_needs: Arc::default(),
        only: policy(job.only.as_deref()),
        except: policy(job.except.as_deref()),
        when: job.when,
        allow_failure: job.allow_failure.clone(),
        inherited_variables: job.inherit.variables.clone(),
    }
}
