//! From keywords to jobs: defaults and global variables applied, `parallel` unfolded, every name
//! of a stage or job checked.

mod check;
mod expand;
mod lower;

use crate::config::{Config, Variables};
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
    pub jobs: Vec<Arc<JobDefinition>>,
    /// The global variables.
    pub variables: Variables,
}

impl ResolvedPipeline {
    /// Returns the job of this name.
    pub fn job(&self, name: &str) -> Option<&JobDefinition> {
        let found = self.jobs.iter().find(|job| job.name == name);
        found.map(AsRef::as_ref)
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
        jobs.extend(
            expansion
                .instances(index, definition)
                .into_iter()
                .map(Arc::new),
        );
    }
    check::check(config, &expansion, diagnostics);
    ResolvedPipeline {
        stages: config.stages.clone(),
        jobs,
        variables: config.variables.clone(),
    }
}
