//! From keywords to jobs: defaults and global variables applied, `parallel` unfolded, every name
//! of a stage or job checked.
//!
//! `expand` names all instances first, because a need or a dependency may name any of them.
//! `instances` then writes each job once and copies it for its siblings, which share what is the same
//! for all; only needs that refer to the matrix are written for each. Everything costs the jobs and
//! needs there are, and there is a limit to how many a short file can make.

mod check;
mod conditions;
mod expand;
mod instances;
mod job;
mod lower;
mod matrix_value;
mod needs;
pub mod written;

pub use job::{ResolvedJob, ResolvedNeeds};

use crate::config::{Config, Variables, Workflow};
use executor_core::job::JobDefinition;
use expand::Expansion;
use needs::NeedsExpansion;
use std::collections::HashMap;
use yaml::diagnostic::Diagnostics;

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
    /// Returns the job of this expanded name, normalized.
    pub fn job(&self, name: &str) -> Option<JobDefinition> {
        let mut jobs = self.jobs.iter();
        let job = jobs.find(|job| job.definition.name == name)?;
        Some(self.normalized(job))
    }

    /// Returns what a job is, with its rules and with all variables that the file gives it.
    pub fn normalized(&self, job: &ResolvedJob) -> JobDefinition {
        job.normalized(&job.definition, &[&self.variables], None)
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
pub fn resolve(config: &Config, diagnostics: &mut Diagnostics) -> ResolvedPipeline {
    let mut resolved = ResolvedPipeline {
        stages: config.stages.clone(),
        variables: config.variables.clone(),
        workflow: config.workflow.clone(),
        jobs: Vec::new(),
    };
    let Some(expansion) = Expansion::of(config, diagnostics) else {
        return resolved;
    };
    let mut needs = NeedsExpansion::new(&expansion);
    resolved.jobs = instances::all(config, &expansion, &mut needs);
    needs.finish(diagnostics);
    check::check(config, &expansion, &resolved.jobs, diagnostics);
    resolved
}
