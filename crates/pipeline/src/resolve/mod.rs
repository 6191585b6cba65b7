//! Turns keywords into jobs: applies defaults and global variables, expands `parallel`, and checks
//! every reference to a stage or job.
//!
//! `expand` names all instances first, because a need or a dependency may name any of them.
//! `instances` then lowers each job once and copies it for its instances; only needs that refer to
//! the matrix are expanded for each. The cost is linear in jobs and needs, whose number is limited.

mod check;
mod conditions;
mod expand;
mod instances;
mod job;
mod lower;
mod matrix_value;
mod needs;
pub mod written;

pub(crate) use conditions::default_policy;
pub use job::ResolvedJob;
pub use needs::ResolvedNeeds;

use crate::config::{Config, Variables, Workflow};
use executor_core::job::JobDefinition;
use expand::Expansion;
use needs::NeedsExpansion;
use std::collections::HashMap;
use std::sync::Arc;
use yaml::Node;
use yaml::diagnostic::Diagnostics;

/// A pipeline whose jobs have nothing left to inherit or look up.
#[derive(Debug, Clone, Default)]
pub struct ResolvedPipeline {
    /// The stages in order, `.pre` and `.post` included.
    pub stages: Vec<String>,
    /// The jobs in file order.
    pub jobs: Vec<ResolvedJob>,
    /// The global variables.
    pub variables: Variables,
    /// Conditions on the pipeline, and its name.
    pub workflow: Workflow,
    /// The content of the file, for the locations of variables; absent if the jobs are not from a file.
    pub tree: Option<Arc<Node>>,
}

impl ResolvedPipeline {
    /// Returns the job of this expanded name, normalized.
    pub fn job(&self, name: &str) -> Option<JobDefinition> {
        let mut jobs = self.jobs.iter();
        let job = jobs.find(|job| job.definition.name == name)?;
        Some(self.normalized(job))
    }

    /// Returns a job's definition with its rules and all variables of the file.
    pub fn normalized(&self, job: &ResolvedJob) -> JobDefinition {
        job.normalized(&job.definition, &[&self.variables], None)
    }

    /// Returns the indices of all stages by name.
    pub fn stage_indices(&self) -> HashMap<&str, usize> {
        lower::stage_indices(&self.stages)
    }
}

/// Resolves the keywords of a file; errors are added to `diagnostics`.
pub fn resolve(config: &Config, diagnostics: &mut Diagnostics) -> ResolvedPipeline {
    let mut resolved = ResolvedPipeline {
        stages: config.stages.clone(),
        variables: config.variables.clone(),
        workflow: config.workflow.clone(),
        jobs: Vec::new(),
        tree: None,
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
