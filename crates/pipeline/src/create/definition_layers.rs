use super::layered_variable::{Layer, LayeredVariable};
use crate::config::{Inherited, Variables};
use crate::context::{group_name, job_value};
use executor_core::job::{DeploymentTier, JobDefinition};
use std::cell::OnceCell;

/// The layers of variables that come from a job's definition.
#[derive(Debug)]
pub(super) struct DefinitionLayers<'a> {
    pub(super) definition: &'a JobDefinition,
    pub(super) inherited: &'a Inherited,
    pub(super) rule: Option<&'a Variables>,
    /// Whether the variables of the job's environment are available.
    has_environment: bool,
    slug: OnceCell<String>,
    total: OnceCell<String>,
    index: OnceCell<String>,
}

impl<'a> DefinitionLayers<'a> {
    pub(super) fn new(
        definition: &'a JobDefinition,
        inherited: &'a Inherited,
        rule: Option<&'a Variables>,
    ) -> Self {
        Self {
            definition,
            inherited,
            rule,
            has_environment: true,
            slug: OnceCell::new(),
            total: OnceCell::new(),
            index: OnceCell::new(),
        }
    }

    /// Returns the same layers without the variables of the environment, in which its name is
    /// expanded.
    pub(super) fn without_environment(&self) -> Self {
        Self {
            has_environment: false,
            ..Self::new(self.definition, self.inherited, self.rule)
        }
    }

    /// Returns a predefined variable about the job itself.
    pub(super) fn value(&self, name: &str) -> Option<LayeredVariable<'_>> {
        let job = self.definition;
        let environment = job.environment.as_deref().filter(|_| self.has_environment);
        let (name, value) = match name {
            "CI_JOB_NAME" => ("CI_JOB_NAME", Some(job.name.as_str())),
            "CI_JOB_STAGE" => ("CI_JOB_STAGE", Some(job.stage.as_str())),
            "CI_JOB_NAME_SLUG" => ("CI_JOB_NAME_SLUG", cached(&self.slug, job, name)),
            "CI_NODE_TOTAL" => ("CI_NODE_TOTAL", cached(&self.total, job, name)),
            "CI_NODE_INDEX" => ("CI_NODE_INDEX", cached(&self.index, job, name)),
            "CI_JOB_GROUP_NAME" => ("CI_JOB_GROUP_NAME", Some(group_name(&job.name))),
            "CI_JOB_MANUAL" => ("CI_JOB_MANUAL", job_value(job, name).map(|_| "true")),
            "CI_JOB_IMAGE" => (
                "CI_JOB_IMAGE",
                job.image.as_deref().map(|image| &*image.name),
            ),
            "CI_ENVIRONMENT_NAME" => ("CI_ENVIRONMENT_NAME", environment.map(|e| &*e.name)),
            "CI_ENVIRONMENT_ACTION" => {
                let action = environment.map(|e| e.action.unwrap_or_default().word());
                ("CI_ENVIRONMENT_ACTION", action)
            }
            "CI_ENVIRONMENT_TIER" => {
                let tier = environment.and_then(|e| e.deployment_tier);
                ("CI_ENVIRONMENT_TIER", tier.map(DeploymentTier::word))
            }
            "CI_ENVIRONMENT_URL" => {
                let url = environment.and_then(|e| e.url.as_deref());
                ("CI_ENVIRONMENT_URL", url)
            }
            _ => return None,
        };
        Some(LayeredVariable {
            name,
            value: value?,
            is_raw: true,
            layer: Layer::Job,
            external: None,
        })
    }
}

/// Returns a value, computed at most once.
fn cached<'c>(cell: &'c OnceCell<String>, job: &JobDefinition, name: &str) -> Option<&'c str> {
    let value = job_value(job, name)?;
    Some(cell.get_or_init(|| value.into_owned()))
}
